import { CallError, LinkError } from "./errors.ts";
import type { Link } from "./link.ts";
import type { ClientClock } from "./platform.ts";
import type { Json } from "./wire.ts";

/** A call that mends what it can; `onResult` is called before the next frame is looked at. */
export type PatientCall = (method: string, params: Json, onResult: (result: unknown) => void) => Promise<unknown>;

/** The wait when a server is busy and does not say for how long. */
const defaultWaitMs = 1_000;

/**
 * Calls that a connection needs in order to be of use, bound to it: when the server is busy they are made again after the
 * time it asks for, and when it gives no reply the connection is dropped, for the next one to start over.
 */
export function patientCalls(
  link: Link,
  clock: ClientClock,
  timeoutMsOf: (method: string) => number,
  note: (method: string, params: Json, result: unknown) => void,
): PatientCall {
  return async (method, params, onResult) => {
    for (;;) {
      try {
        return await link.call(method, params, {
          timeoutMs: timeoutMsOf(method),
          onResult: (result) => {
            note(method, params, result);
            onResult(result);
          },
        });
      } catch (fault) {
        const waitMs = retryAfterMs(fault);
        if (waitMs === null) {
          const isSilent = fault instanceof LinkError && fault.reason === "call_timeout";
          if (isSilent) link.drop("silent", `${method}: no reply`);
          throw fault;
        }
        await new Promise<void>((resolve) => {
          clock.after(waitMs, resolve);
        });
      }
    }
  };
}

/** How long to wait before a call that failed with this is made again; null when it is not to be. */
export function retryAfterMs(fault: unknown): number | null {
  if (!(fault instanceof CallError) || (fault.code !== 4290 && fault.reason !== "log_busy")) return null;
  const waitMs = fault.data["retry_after_ms"];
  return typeof waitMs === "number" && waitMs >= 0 ? waitMs : defaultWaitMs;
}
