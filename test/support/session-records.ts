import type { QueuedPrompt, SessionRecord, StoredMessage } from "../../core/index.ts";

/** An idle session of `local` without a message; its last activity is 1,000. */
export function sessionOf(sessionId: string, changes: Partial<SessionRecord> = {}): SessionRecord {
  return {
    v: 1,
    session_id: sessionId,
    agent_id: "default",
    title: null,
    owner: { client_id: "c-1", principal: "local" },
    visibility: "private",
    close_on_disconnect: false,
    created_at: 900,
    last_activity: 1_000,
    queue: [],
    message_keys: [],
    unfinished: null,
    last_turn: null,
    message_count: 0,
    preview: "",
    ...changes,
  };
}

/** A session of which every field says something. */
export const fullSession: SessionRecord = sessionOf("full", {
  title: "Full",
  cwd: "/tmp",
  model: "m",
  provider: "p",
  queue: [promptOf("one"), { ...promptOf("two"), parts: [{ type: "text", text: "two" }], attachments: ["a"] }],
  message_keys: [{ message_id: "k", digest: "0".repeat(64), result: { status: "streaming", turn_id: "t-1" } }],
  unfinished: { turn_id: "t-2", prompt: { ...promptOf("three"), display_kind: "hidden" } },
  last_turn: { turn_id: "t-1", status: "failed", reason_code: "runner_error" },
  message_count: 2,
  preview: "hello",
});

export function promptOf(text: string): QueuedPrompt {
  return { inputs: [{ id: `i-${text}`, ref: text }], origin: "c-1", text };
}

export const says = (text: string): StoredMessage => ({ role: "user", text });

/** Messages `0`, `1`, ... */
export const numbered = (count: number): StoredMessage[] => Array.from({ length: count }, (_, at) => says(`${at}`));
