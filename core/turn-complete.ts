import type { FailureReason, TurnSettled, TurnStatus } from "./activity.ts";
import type { JsonObject } from "./frames.ts";

/** How `message.complete` says that a turn ended. */
export type CompleteStatus = "complete" | "error" | "interrupted";

/** Where a failure lies, and whether asking again may help. */
interface ErrorSurface {
  readonly layer: "runner" | "provider" | "host";
  readonly retryable: boolean;
}

const surfaces: { readonly [reason in FailureReason]: ErrorSurface } = {
  runner_error: { layer: "runner", retryable: false },
  runner_lost: { layer: "runner", retryable: true },
  not_admitted: { layer: "host", retryable: true },
  member_unavailable: { layer: "runner", retryable: true },
  provider_auth: { layer: "provider", retryable: false },
  provider_rate_limit: { layer: "provider", retryable: true },
  provider_unavailable: { layer: "provider", retryable: true },
  context_overflow: { layer: "provider", retryable: false },
  turn_deadline: { layer: "host", retryable: true },
  no_result: { layer: "runner", retryable: true },
  invalid_script: { layer: "runner", retryable: false },
  unknown: { layer: "runner", retryable: false },
};

/** The word of `message.complete` for a turn's status. */
export function completeStatusOf(status: TurnStatus): CompleteStatus {
  switch (status) {
    case "completed":
    case "passed":
      return "complete";
    case "failed":
      return "error";
    default:
      return "interrupted";
  }
}

/** The payload of a turn's last frame. Of a turn that did not complete, `text` is what was streamed. */
export function completePayload({ status, text, truncated, usage, error, reason_code }: TurnSettled): JsonObject {
  const word = completeStatusOf(status);
  return {
    text,
    status: word,
    usage,
    ...(truncated ? { warning: "the text is longer than what is kept of it" } : {}),
    ...(word !== "complete" && text !== "" ? { partial: true } : {}),
    ...(status === "failed" ? failureOf(reason_code, error) : {}),
  };
}

function failureOf(reason: TurnSettled["reason_code"], error: string | null): JsonObject {
  const code = reason ?? "unknown";
  const { layer, retryable } = isFailure(code) ? surfaces[code] : surfaces.unknown;
  return {
    error: error === null || error === "" ? `the turn failed: ${code}` : error,
    failure_reason: code,
    recoverable: retryable,
    error_surface: { layer, code, retryable },
  };
}

function isFailure(code: string): code is FailureReason {
  return Object.hasOwn(surfaces, code);
}
