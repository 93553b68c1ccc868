import { reasonCodes, type FailureReason, type Usage } from "./activity.ts";
import { messageOf } from "./errors.ts";
import type { TurnEnd } from "./runner.ts";

/** Figures of a usage that are kept. */
const maxFigures = 32;

/** What a figure may be called. Its name is shown to everybody who may see the row. */
const figureName = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

/**
 * How a runner says its turn ended. A runner may be anybody's JavaScript: what is no end is `failed`, `runner_error`, so
 * that no attempt is left without its row.
 * @param clean masks the secrets of a text: a figure whose name holds one is left out
 */
export function parseTurnEnd(value: unknown, clean: (text: string) => string): TurnEnd {
  if (typeof value !== "object" || value === null) return noEnd(`an object, got ${kindOf(value)}`);
  const { status, text, usage, reason_code, error } = value as Readonly<Record<string, unknown>>;
  switch (status) {
    case "completed":
      if (text !== undefined && typeof text !== "string") return noEnd(`a text, got ${kindOf(text)}`);
      return { status, text, usage: usageOf(usage, clean) };
    case "passed":
      return { status, usage: usageOf(usage, clean) };
    case "failed":
      if (!isFailureReason(reason_code)) return noEnd("a reason code of a failed turn");
      return { status, reason_code, error: error === undefined || error === null ? undefined : messageOf(error) };
    case "cancelled":
      return { status };
    default:
      return noEnd("the status completed, passed, failed or cancelled");
  }
}

function noEnd(expected: string): TurnEnd {
  const error = `the runner did not say how its turn ended: expected ${expected}`;
  return { status: "failed", reason_code: "runner_error", error };
}

function kindOf(value: unknown): string {
  return value === null ? "null" : typeof value;
}

function isFailureReason(value: unknown): value is FailureReason {
  return reasonCodes.failed.some((code) => code === value);
}

/** Figures that are none are left out; without any the usage is unknown, which is not 0. */
function usageOf(usage: unknown, clean: (text: string) => string): Usage | null {
  if (typeof usage !== "object" || usage === null) return null;
  const figures = Object.entries(usage)
    .filter((entry): entry is [string, number] => isFigure(entry))
    .slice(0, maxFigures)
    .filter(([name]) => clean(name) === name);
  return figures.length === 0 ? null : Object.fromEntries(figures);
}

function isFigure([name, figure]: readonly [string, unknown]): boolean {
  return Number.isFinite(figure) && figureName.test(name);
}
