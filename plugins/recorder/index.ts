import { definePlugin, type Plugin } from "../plugin.ts";
import { recorderConfigSchema, type RecorderSettings } from "./config.ts";
import { Recorder } from "./recorder.ts";

export type { RecorderConfig, RecorderSettings } from "./config.ts";

/** What a recorder asks for beyond the rest. The operator grants the same words. */
export interface RecorderOptions {
  /** Payloads whole, not cut to 16 KiB. */
  readonly full?: boolean | undefined;
  readonly reasoning?: boolean | undefined;
  /** What approvals are about. */
  readonly approvals?: boolean | undefined;
}

/**
 * The built-in `recorder`: all that happens in rooms as JSON Lines, in files that only their owner may read. Secrets are masked in
 * them as everywhere. While the disk takes nothing it waits, and what its queue cannot hold meanwhile stands in the
 * recording as a gap. `readRecording` reads a file back.
 */
export function recorder({
  full = false,
  reasoning = false,
  approvals = false,
}: RecorderOptions = {}): Plugin<RecorderSettings> {
  return definePlugin({
    id: "recorder",
    version: "1.0.0",
    config: recorderConfigSchema,
    manifest: {
      apiVersion: 1,
      permissions: { payload: full ? "full" : "standard", reasoning, approvals: approvals ? "observe" : "none" },
      disclosure: "Writes what happens in rooms to files: texts, and arguments and results of tools.",
    },
    setup: (context, settings) => Recorder.start(context, settings, settings.payload ?? (full ? "full" : "standard")),
  });
}
