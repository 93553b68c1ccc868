import type { JsonObject } from "./frames.ts";
import type { TranscriptEntry } from "./runner.ts";
import type { InputRef, QueuedPrompt, StoredMessage } from "./session-store.ts";
import type { TurnSource } from "./turn-source.ts";

/** What somebody submits to a session. */
export interface Prompt {
  /** A text, or its parts: those of `{type: "text", text}` are its words, others go along as attachments. */
  readonly text: string | readonly JsonObject[];
  readonly attachments?: readonly unknown[] | undefined;
  /** `hidden`: its words are shown to nobody. */
  readonly display_kind?: string | undefined;
  /** It waits for its own turn, and never corrects or stops the one that runs. */
  readonly queued?: boolean | undefined;
  /** Idempotency key: the same key with the same content is carried out once. */
  readonly message_id?: string | undefined;
  /** The sender's own word for it, repeated to everybody. */
  readonly submission_ref?: string | undefined;
}

/** A prompt as it waits or runs: half surrogate pairs become U+FFFD. @param origin the connection it came by; null when none is named */
export function acceptedPrompt(prompt: Prompt, id: string, origin: string | null): QueuedPrompt {
  const { text, attachments = [], display_kind, submission_ref } = prompt;
  const words = typeof text === "string" ? text : text.flatMap(wordsOf).join("\n");
  return {
    inputs: [{ id, ...(submission_ref === undefined ? {} : { ref: submission_ref }) }],
    origin,
    text: words.toWellFormed(),
    ...(typeof text === "string" ? {} : { parts: text }),
    ...(attachments.length === 0 ? {} : { attachments }),
    ...(display_kind === undefined ? {} : { display_kind }),
  };
}

function wordsOf({ text }: JsonObject): readonly string[] {
  return typeof text === "string" ? [text] : [];
}

/** Whether it is text and nothing else: only such a prompt can correct a turn or be merged. */
export function isPlain({ parts, attachments }: QueuedPrompt): boolean {
  return parts === undefined && attachments === undefined;
}

/** Whether people are not shown its words. */
export function isHidden({ display_kind }: { readonly display_kind?: string | undefined }): boolean {
  return display_kind === "hidden";
}

/** Whose turn a prompt begins: that of the connection it came by, whether that is connected then or not. */
export function promptSource({ origin }: QueuedPrompt): TurnSource {
  return origin === null ? { kind: "unknown" } : { kind: "connection", socket_id: origin };
}

/** What a frame tells of a prompt: its words and attachments, null when they are hidden. */
export function shownInput(prompt: QueuedPrompt): JsonObject | null {
  if (isHidden(prompt)) return null;
  const { text, display_kind, attachments } = prompt;
  return {
    role: "user",
    text,
    ...(display_kind === undefined ? {} : { display_kind }),
    ...(attachments === undefined ? {} : { attachments }),
  };
}

/** Which submissions a frame is about; all are named. */
export function shownInputs(inputs: readonly InputRef[]): JsonObject {
  return { inputs, inputs_complete: true };
}

/** SHA-256 of what two prompts of one idempotency key must have in common, in hex. */
export async function contentDigest({ text, attachments = [], display_kind = "" }: Prompt): Promise<string> {
  const content = new TextEncoder().encode(sortedJson([text, attachments, display_kind]));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** JSON in which the order of an object's keys makes no difference. */
function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

/** A prompt as a runner is shown it: with its secrets. */
export function entryOfPrompt({ text, parts = [], attachments = [] }: QueuedPrompt): TranscriptEntry {
  const others = parts.filter((part) => typeof part["text"] !== "string");
  return entryOf("person", "user", text, [...others, ...attachments]);
}

/** A message of the transcript as a runner is shown it. */
export function entryOfMessage({ role, text, attachments = [] }: StoredMessage, agentId: string): TranscriptEntry {
  return role === "assistant"
    ? entryOf("agent", agentId, text, attachments)
    : entryOf("person", role, text, attachments);
}

function entryOf(kind: "person" | "agent", id: string, text: string, attachments: readonly unknown[]): TranscriptEntry {
  const references = attachments.map(referenceOf);
  return { author: { kind, id }, text, ...(references.length === 0 ? {} : { attachments: references }) };
}

/** What names an attachment: itself, where it is a text, or its place; else all of it. */
function referenceOf(attachment: unknown): string {
  if (typeof attachment === "string") return attachment;
  const fields = (attachment ?? {}) as JsonObject;
  const place = ["path", "url", "uri"].map((key) => fields[key]).find((value) => typeof value === "string");
  return typeof place === "string" ? place : JSON.stringify(attachment);
}
