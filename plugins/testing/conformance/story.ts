import {
  makeCoordinates,
  type ActivityEvent,
  type ActivityKind,
  type ActivityPayloads,
  type Coordinates,
} from "../../../core/index.ts";

/** Coordinates of a turn in a room. */
export function placeIn(room_id: string, fields: Partial<Coordinates> = {}): Coordinates {
  return makeCoordinates({
    ...{ room_id, thread_id: "main", member_id: "m-a", turn_id: "t-1", task_id: "k-1", execution_generation: 1 },
    ...fields,
  });
}

/** One event as the wire has it. */
export function eventOf<Kind extends ActivityKind>(
  coordinates: Coordinates,
  n: number | null,
  kind: Kind,
  payload: ActivityPayloads[Kind],
): ActivityEvent {
  return { v: 1, coordinates, kind, n, seq: n, at: 1_764_512_345_678, payload } as unknown as ActivityEvent;
}

/** Words that a story is told with, so that they can be found again. */
export interface StoryTexts {
  readonly text: string;
}

const hash = "0".repeat(64);

/**
 * All that is told of one attempt, as a host tells it: every kind, an approval that is answered, and a tool that fails. Two
 * stories differ in nothing but their coordinates.
 */
export function story(coordinates: Coordinates, { text }: StoryTexts = { text: "looking" }): readonly ActivityEvent[] {
  let n = 0;
  const next = <Kind extends ActivityKind>(kind: Kind, payload: ActivityPayloads[Kind]): ActivityEvent =>
    eventOf(coordinates, ++n, kind, payload);
  const opened = { id: "srq-000000000001", request_id: "apr-000000000001", method: "approval" };
  return [
    next("turn.started", {
      input: [{ message_id: "m1", author: { kind: "person", id: "ada" }, text }],
      ...{ cause: "message", origin: null, seen_through_seq: 0, roster_digest: hash },
      discussion: { message_id: "m1", round: 0, slot: 0 },
      row: { seq: 1, hash },
    }),
    next("reasoning.delta", { text, offset: 0 }),
    next("message.delta", { text, offset: 0 }),
    next("tool.started", { tool_id: "tool-1", name: "read", args: { path: text } }),
    next("tool.completed", { tool_id: "tool-1", name: "read", outcome: "ok", duration_ms: 3, result: text }),
    next("tool.started", { tool_id: "tool-2", name: "write", args: { path: text } }),
    next("request.opened", {
      ...{ ...opened, tool_id: "tool-2", command: text, description: text, choices: ["once", "deny"] },
      expires_at: null,
    }),
    next("request.resolved", { ...opened, outcome: "denied", choice: "deny", by: null }),
    next("tool.completed", { tool_id: "tool-2", name: "write", outcome: "denied", duration_ms: 4, error: text }),
    next("tool.output_risk", { tool_id: "tool-1", name: "read", risk: "low", findings: [text], redacted: false }),
    next("message.interim", { text, already_streamed: true }),
    next("turn.error", { message: text, reason: "provider_unavailable" }),
    next("turn.settled", {
      ...{ status: "completed", reason_code: null, text, truncated: false, error: null },
      ...{ usage: { input_tokens: 10, output_tokens: 2 }, activity_count: n, duration_ms: 9 },
      row: { seq: 2, hash },
      counts: { "turn.started": 1, "tool.started": 2, "tool.completed": 2, "turn.settled": 1 },
    }),
  ];
}
