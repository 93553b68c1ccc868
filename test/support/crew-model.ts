import fc from "fast-check";
import type {
  ActivityEvent,
  ActivityKind,
  Coordinates,
  JsonObject,
  MemberEntry,
  ReasonCode,
  RequestEntry,
  TurnStatus,
} from "../../core/index.ts";
import type { Seed } from "../../plugins/index.ts";

const steps = ["text", "think", "open", "end", "ask", "answer", "say", "err"] as const;
type Step = (typeof steps)[number];

/** One attempt as it is made up: what it does, and whether the one behind it is a retry of its task. */
export interface Script {
  readonly steps: readonly Step[];
  readonly status: "completed" | "failed" | "cancelled";
  readonly retried: boolean;
}

const script: fc.Arbitrary<Script> = fc.record({
  steps: fc.array(fc.constantFrom(...steps), { maxLength: 12 }),
  status: fc.constantFrom("completed", "failed", "cancelled"),
  retried: fc.boolean(),
});

/** A room of members that work side by side, each one attempt after the other, and the order in which their events come. */
export const scripts = fc.record({
  members: fc.array(fc.array(script, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 }),
  choices: fc.array(fc.nat(), { minLength: 40, maxLength: 40 }),
});

/** What a consumer's queue makes of an event. */
export const handlings = fc.array(fc.constantFrom("pass", "pass", "pass", "merge", "drop"), {
  minLength: 40,
  maxLength: 40,
});

/** A room whose every event, row and snapshot is known. Its wall clock counts events. */
export class CrewModel {
  /** All events, in the order in which they happened. */
  readonly events: ActivityEvent[] = [];
  readonly rows: (JsonObject & { readonly seq: number; readonly created_at: number })[] = [];
  readonly members: readonly string[];

  constructor({ members, choices }: { members: readonly (readonly Script[])[]; choices: readonly number[] }) {
    this.members = members.map((_, index) => `m-${index}`);
    const waiting = members.map((each, index) => eventsOfMember(index, each));
    for (let step = 0; waiting.some((events) => events.length > 0); step++) {
      const left = waiting.filter((events) => events.length > 0);
      const event = left[(choices[step % choices.length] ?? 0) % left.length]?.shift();
      if (event !== undefined) this.#publish(event);
    }
  }

  #publish(event: ActivityEvent): void {
    const at = 1_000 + this.events.length;
    if (event.kind !== "turn.started" && event.kind !== "turn.settled") {
      this.events.push({ ...event, at });
      return;
    }
    const seq = this.rows.length + 1;
    const row = { seq, hash: "0" };
    this.events.push({ ...event, at, payload: { ...event.payload, row } } as ActivityEvent);
    this.rows.push({ ...event.coordinates, seq, kind: event.kind, created_at: at, payload: event.payload });
  }

  /** The room as it says of itself behind so many events. */
  seedAt(count: number): Seed & { readonly log: { readonly latest_seq: number } } {
    const past = this.events.slice(0, count);
    const latest_seq = past.filter(({ kind }) => kind === "turn.started" || kind === "turn.settled").length;
    const open = this.members.flatMap((member) => runningOf(past, member));
    return {
      room: { room_id: "r1", name: "Room", roster: this.members.map((id) => ({ member_id: id, handle: id.slice(2) })) },
      log: { latest_seq },
      members: this.members.map((id) => entryOf(past, id)),
      open_requests: open.flatMap(({ requests }) => requests),
      attempts: open.map(({ attempt }) => attempt),
    };
  }
}

function eventsOfMember(index: number, attempts: readonly Script[]): ActivityEvent[] {
  let [task, generation] = [0, 0];
  return attempts.flatMap((each, at) => {
    const isRetry = at > 0 && attempts[at - 1]?.retried === true;
    if (!isRetry) task += 1;
    generation = isRetry ? generation + 1 : 1;
    const coordinates = {
      ...{ room_id: "r1", thread_id: "main", member_id: `m-${index}`, turn_id: `t-${index}-${task}` },
      ...{ task_id: `k-${index}-${task}`, execution_generation: generation },
    };
    return eventsOf(coordinates, each);
  });
}

function eventsOf(coordinates: Coordinates, { steps: plan, status }: Script): ActivityEvent[] {
  const events: ActivityEvent[] = [];
  const units = { "message.delta": 0, "reasoning.delta": 0 };
  const [tools, asked]: [string[], string[]] = [[], []];
  const key = `${coordinates.task_id}.${coordinates.execution_generation}`;
  const add = (kind: ActivityKind, payload: JsonObject): void => {
    const event = { v: 1, coordinates, kind, n: events.length + 1, seq: null, at: 0, payload };
    events.push(event as unknown as ActivityEvent);
  };
  const stream = (kind: keyof typeof units): void => {
    const text = `<${events.length + 1}😀>`;
    add(kind, { text, offset: units[kind] });
    units[kind] += text.length;
  };
  add("turn.started", { cause: "message", input: [{ message_id: "p", author: {}, text: `do ${key}` }] });
  const end = (tool_id: string, outcome: string): void => add("tool.completed", { tool_id, name: "read", outcome });
  const resolve = (id: string, outcome: string): void =>
    add("request.resolved", { id, method: "approval", outcome, by: null });
  for (const step of plan) {
    const [tool, request] = [step === "end" ? tools.shift() : undefined, step === "answer" ? asked.shift() : undefined];
    if (step === "text") stream("message.delta");
    else if (step === "think") stream("reasoning.delta");
    else if (step === "say") add("message.interim", { text: `note ${events.length}`, already_streamed: false });
    else if (step === "err") add("turn.error", { message: `bad ${events.length}` });
    else if (step === "open") {
      tools.push(`c${events.length}`);
      add("tool.started", { tool_id: `c${events.length}`, name: "read", args: { path: "a" } });
    } else if (step === "ask") {
      asked.push(`srq-${key}-${events.length}`);
      add("request.opened", askedOf(`srq-${key}-${events.length}`));
    }
    if (tool !== undefined) end(tool, events.length % 2 === 0 ? "ok" : "unknown");
    if (request !== undefined) resolve(request, "answered");
  }
  for (const id of asked) resolve(id, "cancelled");
  for (const id of tools) end(id, "interrupted");
  const counts: Record<string, number> = {};
  for (const { kind } of events) counts[kind] = (counts[kind] ?? 0) + 1;
  const reason_code: ReasonCode | null =
    status === "failed" ? "runner_error" : status === "cancelled" ? "stopped" : null;
  const how = { status, reason_code, text: `answer ${key}`, truncated: false, error: null, usage: null };
  add("turn.settled", { ...how, activity_count: events.length + 1, duration_ms: 5, counts });
  return events;
}

function askedOf(id: string): JsonObject {
  return { id, method: "approval", command: "make", choices: ["once", "deny"], expires_at: null };
}

/** The attempt that a member runs behind these events. */
function runningOf(past: readonly ActivityEvent[], member: string) {
  const own = past.filter(({ coordinates }) => coordinates?.member_id === member);
  const last = own.at(-1);
  if (last === undefined || last.kind === "turn.settled" || last.coordinates === null) return [];
  const { coordinates } = last;
  const events = own.filter((event) => event.coordinates === coordinates);
  const textOf = (wanted: ActivityKind): string =>
    events.map(({ kind, payload }) => (kind === wanted && "text" in payload ? payload.text : "")).join("");
  const text = textOf("message.delta");
  const tools = openOf(events, "tool.started", "tool.completed", "tool_id").map(({ at, payload }) => {
    const { tool_id, name } = payload as unknown as { readonly tool_id: string; readonly name: string };
    return { tool_id, name, since: at };
  });
  const requests = openOf(events, "request.opened", "request.resolved", "id").map(({ payload }): RequestEntry => ({
    ...(payload as unknown as RequestEntry),
    coordinates,
  }));
  const streamed = { text, offset: text.length, reasoning_offset: textOf("reasoning.delta").length };
  const open_requests = requests.map(({ id }) => id);
  return [{ requests, attempt: { coordinates, n: events.length, ...streamed, tools, open_requests } }];
}

function openOf(events: readonly ActivityEvent[], start: ActivityKind, end: ActivityKind, key: string) {
  const idOf = ({ payload }: ActivityEvent): unknown => (payload as unknown as JsonObject)[key];
  const ended = new Set(events.filter(({ kind }) => kind === end).map(idOf));
  return events.filter((event) => event.kind === start && !ended.has(idOf(event)));
}

function entryOf(past: readonly ActivityEvent[], member_id: string): MemberEntry {
  const own = past.filter(({ coordinates }) => coordinates?.member_id === member_id);
  const [running] = runningOf(past, member_id);
  const settled = own.findLast(({ kind }) => kind === "turn.settled");
  const { status, reason_code } = (settled?.payload ?? {}) as { status?: TurnStatus; reason_code?: ReasonCode | null };
  const last =
    !settled?.coordinates || status === undefined
      ? null
      : { turn_id: settled.coordinates.turn_id, status, reason_code: reason_code ?? null };
  const open_requests = running?.attempt.open_requests ?? [];
  const base = { member_id, paused: false, since: own.at(-1)?.at ?? 0, open_requests, last };
  if (running === undefined) return { ...base, state: status === "failed" ? "failed" : "idle" };
  const { task_id, turn_id, execution_generation } = running.attempt.coordinates;
  const state = open_requests.length > 0 ? "needs_input" : "running";
  return { ...base, state, task_id, turn_id, execution_generation };
}

/** What a consumer is handed of these events: merged, with gaps at the places of losses, and texts made whole behind them. */
export function delivered(events: readonly ActivityEvent[], plan: readonly string[]): readonly ActivityEvent[] {
  const out: ActivityEvent[] = [];
  const broken = new Set<string>();
  for (const [place, event] of events.entries()) {
    const { coordinates, kind, n } = event;
    if (coordinates === null || n === null) continue;
    const at = out.findLastIndex((each) => each.coordinates === coordinates);
    const last = out[at];
    const key = `${coordinates.task_id}#${coordinates.execution_generation} ${kind}`;
    const handling = plan[place % plan.length] ?? "pass";
    const isText = kind === "message.delta" || kind === "reasoning.delta";
    if (handling === "drop") {
      if (isText) broken.add(key);
      if (last?.kind === "gap") out[at] = gapOf(event, last);
      else out.push(gapOf(event, null));
    } else if (isText && broken.delete(key)) {
      const pieces = events.filter(
        (each) => each.coordinates === coordinates && each.kind === kind && (each.n ?? 0) <= n,
      );
      const text = pieces.map(({ payload }) => ("text" in payload ? payload.text : "")).join("");
      out.push({ ...event, payload: { text, offset: 0, snapshot: true } } as ActivityEvent);
    } else if (handling === "merge" && isText && last?.kind === kind && last.n === n - 1) {
      const text = `${last.payload.text}${event.payload.text}`;
      out[at] = { ...event, n_from: last.n_from ?? last.n, payload: { ...last.payload, text } };
    } else {
      out.push(event);
    }
  }
  return out;
}

function gapOf(event: ActivityEvent, before: Extract<ActivityEvent, { kind: "gap" }> | null): ActivityEvent {
  const { coordinates, kind, n, at } = event;
  const known = before?.payload;
  const kinds = { ...known?.kinds, [kind]: (known?.kinds[kind] ?? 0) + 1 };
  const payload = {
    ...{ dropped: (known?.dropped ?? 0) + 1, withheld: 0, kinds, reason: "overflow" as const },
    ...{ first_n: known?.first_n ?? n, last_n: n },
  };
  return { v: 1, coordinates, kind: "gap", n: null, seq: null, at, payload };
}
