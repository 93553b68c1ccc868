import { z } from "zod";

/** What the metrics are configured with. Strict: an unknown key is an error. */
export const metricsConfigSchema = z
  .strictObject({
    /** What the credential of who reads `/metrics` must hold; `public` asks for none. */
    scope: z.enum(["public", "read", "admin"]).default("read"),
    /** Whether numbers are told by room. Of more than `maxRooms` of them the rest is `other`. */
    rooms: z.boolean().default(false),
    maxRooms: z.int().min(1).max(1_000).default(50),
    /** Whether tool calls are told by the tool's name. Of more than `maxTools` names the rest is `other`. */
    tools: z.boolean().default(false),
    maxTools: z.int().min(1).max(1_000).default(100),
    /** Whether the process is told of as well: memory, CPU, event loop, garbage collection. */
    process: z.boolean().default(false),
    /** Whether `/livez` and `/readyz` are served. */
    health: z.boolean().default(true),
  })
  .prefault({});

/** The config of `metrics`, as it is written. */
export type MetricsConfig = z.input<typeof metricsConfigSchema>;
/** The same with its defaults. */
export type MetricsSettings = z.output<typeof metricsConfigSchema>;
