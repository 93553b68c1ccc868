import { limits } from "./options.ts";
import { isPlain } from "./prompt.ts";
import type { QueuedPrompt } from "./session-store.ts";
import { utf8Length } from "./utf8.ts";

/** What became of a prompt that is to wait. `merged`: it joined a text of the same client that waits already. */
export type Enqueued =
  | { readonly status: "queued" | "merged"; readonly queue: readonly QueuedPrompt[] }
  | { readonly status: "queue_full" };

/**
 * Puts a prompt into the line of a session: 32 entries and 1 MiB, beyond which it is refused. A text is joined, by a blank
 * line, to the last text that the same client has in the line, wherever that stands; those of different clients never
 * are: so each entry, and the turn it becomes, has one origin. Prompts with parts or attachments stay alone.
 */
export function enqueue(queue: readonly QueuedPrompt[], prompt: QueuedPrompt): Enqueued {
  const last = queue.findLastIndex(({ origin }) => origin === prompt.origin);
  const waiting = queue[last];
  const merged = waiting === undefined ? null : mergedOf(waiting, prompt);
  if (merged === null && queue.length >= limits.maxQueuedPrompts) return { status: "queue_full" };
  const next = merged === null ? [...queue, prompt] : queue.with(last, merged);
  if (queueBytes(next) > limits.maxQueuedPromptBytes) return { status: "queue_full" };
  return { status: merged === null ? "queued" : "merged", queue: next };
}

/** UTF-8 bytes of what waits: texts, or parts as JSON, and attachments as JSON. */
export function queueBytes(queue: readonly QueuedPrompt[]): number {
  return queue.reduce((sum, prompt) => sum + promptBytes(prompt), 0);
}

function promptBytes({ text, parts, attachments }: QueuedPrompt): number {
  const words = utf8Length(parts === undefined ? text : JSON.stringify(parts));
  return words + (attachments === undefined ? 0 : utf8Length(JSON.stringify(attachments)));
}

function mergedOf(waiting: QueuedPrompt, prompt: QueuedPrompt): QueuedPrompt | null {
  if (!isPlain(waiting) || !isPlain(prompt) || waiting.display_kind !== prompt.display_kind) return null;
  const inputs = [...waiting.inputs, ...prompt.inputs];
  if (inputs.length > limits.maxMergedInputs) return null;
  return { ...waiting, inputs, text: `${waiting.text}\n\n${prompt.text}` };
}
