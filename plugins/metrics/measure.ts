import {
  reasonCodes,
  requestOutcomes,
  startCauses,
  toolOutcomes,
  turnStatuses,
  type ActivityEvent,
  type EventOf,
} from "../../core/index.ts";
import { tokensOf } from "../usage-tokens.ts";
import { BoundedLabels, wordOf } from "./bounded-labels.ts";
import type { MetricsSettings } from "./config.ts";
import { meterTable, type Measurement, type Meter, type MeterName } from "./meters.ts";

/** Attempts and questions of which the beginning is kept, each; of more the oldest is forgotten. */
const maxOpen = 4_096;

const methods = ["approval", "clarify", "secret", "sudo", "ask"];
const reasons: readonly string[] = Object.values(reasonCodes).flat();

/**
 * What events come to, as steps of metrics. It knows what a later event needs of an earlier one, and asks nobody.
 * What was not reported gives no measurement but one that says so.
 */
export class Measurer {
  readonly #rooms: BoundedLabels | null;
  readonly #tools: BoundedLabels | null;
  /** Wall time of their start, by attempt; null once the first text has come. */
  readonly #attempts = new Map<string, number | null>();
  /** Wall time of their opening, by id. */
  readonly #requests = new Map<string, number>();

  constructor({ rooms, maxRooms, tools, maxTools }: MetricsSettings) {
    this.#rooms = rooms ? new BoundedLabels(maxRooms) : null;
    this.#tools = tools ? new BoundedLabels(maxTools) : null;
  }

  of(event: ActivityEvent): readonly Measurement[] {
    const room = event.coordinates === null ? null : (this.#rooms?.of(event.coordinates.room_id) ?? null);
    return this.#raw(event).map((each) => {
      const { isOwn = false }: Meter = meterTable[each.name];
      return room === null || isOwn ? each : { ...each, labels: { ...each.labels, room } };
    });
  }

  #raw(event: ActivityEvent): readonly Measurement[] {
    switch (event.kind) {
      case "turn.started":
        return this.#started(event);
      case "turn.settled":
        return this.#settled(event);
      case "message.delta":
        return this.#firstText(event);
      case "turn.error":
        return [step("roomtap_turn_errors_total")];
      case "tool.started":
        return [step("roomtap_tools_started_total", this.#toolLabel(event.payload.name))];
      case "tool.completed":
        return this.#toolEnded(event);
      case "request.opened":
        keep(this.#requests, event.payload.id, event.at);
        return [step("roomtap_requests_opened_total", { method: wordOf(event.payload.method, methods) })];
      case "request.resolved":
        return this.#resolved(event);
      case "gap":
        return event.payload.withheld === 0 ? [] : [step("roomtap_events_withheld_total", {}, event.payload.withheld)];
      default:
        return [];
    }
  }

  #started({ coordinates, payload, at }: EventOf<"turn.started">): readonly Measurement[] {
    keep(this.#attempts, keyOf(coordinates), at);
    const isRetry = coordinates.execution_generation > 1;
    return [
      step("roomtap_turns_started_total", { cause: wordOf(payload.cause, startCauses) }),
      ...(isRetry ? [step("roomtap_turn_retries_total")] : []),
    ];
  }

  #settled({ coordinates, payload }: EventOf<"turn.settled">): readonly Measurement[] {
    this.#attempts.delete(keyOf(coordinates));
    const { reason_code, duration_ms, usage } = payload;
    const status = wordOf(payload.status, turnStatuses);
    const tokens = tokensOf(usage);
    return [
      step("roomtap_turns_total", {
        status,
        reason_code: reason_code === null ? "none" : wordOf(reason_code, reasons),
      }),
      duration_ms === null
        ? step("roomtap_turn_duration_unreported_total")
        : step("roomtap_turn_duration_seconds", { status }, duration_ms / 1_000),
      ...(tokens.length === 0 ? [step("roomtap_turn_usage_unreported_total")] : []),
      ...tokens.map(({ type, tokens: count }) => step("roomtap_turn_tokens_total", { type }, count)),
    ];
  }

  /** Only the first piece as it left the seam says when it came: a merged one has the time of its last. */
  #firstText({ coordinates, payload, at, n_from }: EventOf<"message.delta">): readonly Measurement[] {
    const key = keyOf(coordinates);
    const startedAt = this.#attempts.get(key);
    if (startedAt === null) return [];
    keep(this.#attempts, key, null);
    const isFirst = payload.offset === 0 && payload.snapshot !== true && n_from === undefined;
    if (startedAt === undefined || !isFirst) return [step("roomtap_turn_first_text_unreported_total")];
    return [step("roomtap_turn_first_text_seconds", {}, Math.max(0, at - startedAt) / 1_000)];
  }

  #toolEnded({ payload: { name, outcome, duration_ms } }: EventOf<"tool.completed">): readonly Measurement[] {
    const labels = { outcome: wordOf(outcome, toolOutcomes), ...this.#toolLabel(name) };
    return [
      step("roomtap_tools_total", labels),
      duration_ms === undefined
        ? step("roomtap_tool_duration_unreported_total")
        : step("roomtap_tool_duration_seconds", labels, duration_ms / 1_000),
    ];
  }

  #resolved({ payload, at }: EventOf<"request.resolved">): readonly Measurement[] {
    const { id, by, outcome } = payload;
    const method = wordOf(payload.method, methods);
    const openedAt = this.#requests.get(id);
    this.#requests.delete(id);
    const isPersons =
      by !== null && !by.origin.startsWith("plugin:") && (outcome === "answered" || outcome === "denied");
    return [
      step("roomtap_requests_total", { method, outcome: wordOf(outcome, requestOutcomes) }),
      ...(isPersons && openedAt !== undefined
        ? [step("roomtap_request_answer_seconds", { method }, Math.max(0, at - openedAt) / 1_000)]
        : []),
    ];
  }

  #toolLabel(name: string): { readonly tool?: string } {
    return this.#tools === null ? {} : { tool: this.#tools.of(name) };
  }
}

function step(name: MeterName, labels: Measurement["labels"] = {}, value = 1): Measurement {
  return { name, labels, value };
}

function keyOf({ turn_id, execution_generation }: NonNullable<ActivityEvent["coordinates"]>): string {
  return `${turn_id} ${execution_generation}`;
}

/** Keeps it, and forgets the oldest beyond the bound. */
function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  if (map.size <= maxOpen) return;
  const oldest = map.keys().next().value;
  if (oldest !== undefined) map.delete(oldest);
}
