import { z } from "zod";

/** What traces are configured with. Strict: an unknown key is an error. */
export const otelConfigSchema = z
  .strictObject({
    /** The name that the tracer is asked for by. */
    tracer: z.string().min(1).default("roomtap"),
    /** Whether spans hold texts: posts, answers, arguments and results of tools, errors. */
    content: z.boolean().default(false),
    /** What turns hang below: nothing, each being a trace; or one trace for each discussion, or for each room. */
    parent: z.enum(["none", "discussion", "room"]).default("none"),
    /** `gen_ai.provider.name`: who is behind the agents, such as `anthropic`. */
    provider: z.string().min(1).default("_OTHER"),
    /** Attempts whose spans are open, at most; of more the one that began first is ended as interrupted. */
    maxOpenTurns: z.int().min(1).max(65_536).default(1_024),
  })
  .prefault({});

/** The config of `otel`, as it is written. */
export type OtelConfig = z.input<typeof otelConfigSchema>;
/** The same with its defaults. */
export type OtelSettings = z.output<typeof otelConfigSchema>;
