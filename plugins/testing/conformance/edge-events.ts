import type { ActivityEvent, Coordinates } from "../../../core/index.ts";
import { eventOf } from "./story.ts";

const hash = "0".repeat(64);
/** A control character, an escape sequence, a mark that turns the direction of text, and a character of two units. */
const oddText = "\u0000\u001b[31m\u202e\u{1f600}";

function deep(levels: number): unknown {
  let value: unknown = "bottom";
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

/**
 * Events that the types allow and a plain turn does not have: what is optional is absent, agents sent other types than one
 * expects, names are those of every object, the end is one of an attempt whose host died.
 */
export function edgeEvents(coordinates: Coordinates): readonly ActivityEvent[] {
  let n = 0;
  const next = (...[kind, payload]: EventParts): ActivityEvent => eventOf(coordinates, ++n, kind, payload as never);
  const id = "srq-000000000001";
  return [
    next("turn.started", {
      ...{ input: [], cause: "host", origin: null, seen_through_seq: 0, roster_digest: hash },
      ...{ discussion: { message_id: "m1", round: 0, slot: 0 }, row: { seq: 1, hash } },
    }),
    ...[undefined, null, 0, "", [], deep(64)].map((args, index) =>
      next("tool.started", { tool_id: `e-${index}`, name: "odd", ...(args === undefined ? {} : { args }) }),
    ),
    ...["__proto__", "constructor", oddText, "x".repeat(512)].flatMap((name) => [
      next("tool.started", { tool_id: name, name }),
      next("tool.completed", { tool_id: name, name, outcome: "unknown" }),
    ]),
    next("tool.completed", {
      tool_id: "never-started",
      name: "odd",
      outcome: "interrupted",
      result: null,
      error: null,
    }),
    next("tool.completed", { tool_id: "e-1", name: "odd", outcome: "timeout", unserialisable: true }),
    next("tool.output_risk", { tool_id: "e-2", name: "odd", unserialisable: true }),
    next("message.delta", { text: "", offset: 0 }),
    next("message.delta", { text: oddText, offset: 0, snapshot: true }),
    next("reasoning.delta", { text: oddText, offset: 0, snapshot: true }),
    next("message.interim", { text: "", already_streamed: false, unserialisable: true }),
    next("request.opened", { id, method: "clarify", questions: [{ qid: "q1", question: "?" }], expires_at: null }),
    next("request.resolved", { id, method: "clarify", outcome: "expired", by: null }),
    next("request.resolved", { id: "srq-00000000000f", method: "approval", outcome: "cancelled", by: { origin: "c" } }),
    next("turn.error", { message: "" }),
    {
      ...next("message.interim", { text: "cut", already_streamed: false }),
      truncated: [{ field: "text", bytes: 99_999 }],
    },
    abandoned(coordinates),
  ] as readonly ActivityEvent[];
}

type EventParts = { [Kind in ActivityEvent["kind"]]: readonly [Kind, object] }[ActivityEvent["kind"]];

function abandoned(coordinates: Coordinates): ActivityEvent {
  return eventOf(coordinates, null, "turn.settled", {
    ...{ status: "abandoned", reason_code: "host_lost", text: "", truncated: false, error: null, usage: null },
    ...{ activity_count: null, duration_ms: null, row: { seq: 2, hash }, counts: {} },
  });
}

/** A gap that tells of no attempt in particular. */
export const namelessGap = {
  ...{ v: 1, coordinates: null, kind: "gap", n: null, seq: null, at: 1_764_512_345_678 },
  payload: { dropped: 3, withheld: 0, first_n: null, last_n: null, kinds: {}, reason: "overflow" },
} as const satisfies ActivityEvent;

/** Events whose payload is none: no host tells them, and a handler may throw. */
export function brokenEvents(coordinates: Coordinates): readonly ActivityEvent[] {
  const kinds = ["turn.started", "tool.started", "tool.completed", "message.delta", "request.opened"] as const;
  return kinds.flatMap((kind, index) =>
    [{}, { tool_id: null, name: null, text: 7, input: "none" }].map((payload) =>
      eventOf(coordinates, index + 1, kind, payload as never),
    ),
  );
}
