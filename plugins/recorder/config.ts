import { z } from "zod";

/** What a recorder is configured with. Strict: an unknown key is an error. */
export const recorderConfigSchema = z.strictObject({
  /** Where its files are; it is made when it is not there. */
  folder: z.string().min(1),
  /** What their names begin with. Two hosts that record into one folder need two names. */
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)
    .default("roomtap"),
  /** Ids of the rooms that are recorded; null: all that it may see. */
  rooms: z.array(z.string().min(1)).min(1).nullable().default(null),
  /** Kinds and families of them. */
  kinds: z.array(z.string()).min(1).default(["*"]),
  /** How much of each event. Default: as much as it may have. */
  payload: z.enum(["meta", "standard", "full"]).optional(),
  /** A file that would be larger is closed, and the next one begun. */
  maxFileBytes: z.int().min(4_096).default(67_108_864),
  /** The same for one that was begun so long ago, when the next event comes. */
  maxFileAgeMs: z.int().min(1_000).default(86_400_000),
  /** Files that stay, those of earlier runs counted; the oldest ones are removed. */
  keepFiles: z.int().min(1).default(16),
});

/** The config of `recorder`, as it is written. */
export type RecorderConfig = z.input<typeof recorderConfigSchema>;
/** The same with its defaults. */
export type RecorderSettings = z.output<typeof recorderConfigSchema>;
