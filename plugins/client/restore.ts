import { CallError } from "./errors.ts";
import type { Snapshot } from "./methods.ts";
import type { PatientCall } from "./patient-call.ts";
import { joinOf, type Joined, type SessionTable } from "./sessions.ts";
import { isJson, readEvent, type WireEvent } from "./wire.ts";

/** A session whose frames do not go on without a hole: what was shown of it is to be replaced by the snapshot. */
export interface Resync {
  readonly session_id: string;
  /** `epoch`: the server started anew. `truncated`: what was missed is no longer kept. */
  readonly reason: "epoch" | "truncated";
  readonly snapshot: Snapshot;
}

/** What restoring needs of its client. */
export interface RestoreParts {
  readonly table: SessionTable;
  /** Bound to the connection that stands; what it replies has been taken note of when its result is told. */
  readonly call: PatientCall;
  readonly handOut: (events: readonly WireEvent[]) => void;
  readonly resync: (resync: Resync) => void;
  readonly problem: (code: string, message: string) => void;
}

/** Sessions that are brought up to date side by side: a server takes 64 calls at once, and others call as well. */
const maxAtOnce = 16;

/**
 * Brings sessions up to date after a connection was made: the frames that were missed, each once and in order, or a
 * snapshot where they are no longer to be had. Frames that come meanwhile wait behind them.
 * @param resumed whether the server attached the sessions again by itself
 * @throws LinkError when the connection ends before: the next one starts over
 */
export async function restoreSessions(
  parts: RestoreParts,
  sessions: readonly Joined[],
  resumed: boolean,
): Promise<void> {
  for (const { sessionId } of sessions) parts.table.park(sessionId);
  const left = sessions.values();
  const work = async (): Promise<void> => {
    for (const session of left) await restore(parts, session, resumed);
  };
  await Promise.all(Array.from({ length: maxAtOnce }, work));
}

async function restore(parts: RestoreParts, session: Joined, resumed: boolean): Promise<void> {
  const { table } = parts;
  const { epoch } = table;
  try {
    if (session.seq !== null) {
      const isWhole = resumed ? await replay(parts, session) : await rejoin(parts, session);
      // In another life than the number it has lost it, and whoever noticed that reads it.
      if (isWhole || table.epoch !== epoch) return;
    }
    await readSnapshot(parts, session, session.seq === null ? "epoch" : "truncated");
  } catch (fault) {
    if (!(fault instanceof CallError)) throw fault;
    table.leave(session.sessionId);
    parts.problem("session_lost", `${session.sessionId} cannot be joined again: ${fault.message}`);
  }
}

/** The missed frames of a session that is attached. Gives false when only a snapshot makes it whole. */
async function replay({ table, call, handOut }: RestoreParts, { sessionId, seq }: Joined): Promise<boolean> {
  const { epoch } = table;
  let isWhole = false;
  try {
    await call("session.events.since", { session_id: sessionId, last_seen: seq }, (result) => {
      if (table.epoch !== epoch || !isJson(result)) return;
      const { events, truncated } = result;
      if (truncated !== false || !Array.isArray(events) || table.hasOverflowed(sessionId)) return;
      isWhole = true;
      handOut(
        table.replay(
          sessionId,
          events.flatMap((params: unknown) => readEvent(params) ?? []),
        ),
      );
      handOut(table.release(sessionId));
    });
  } catch (fault) {
    // A replay that is refused, too large above all, is none.
    if (!(fault instanceof CallError)) throw fault;
  }
  return isWhole;
}

/** Attaches again; the missed frames follow the reply. Gives false when some of them are no longer kept. */
async function rejoin({ table, call, handOut }: RestoreParts, session: Joined): Promise<boolean> {
  const { epoch } = table;
  const join = joinOf(session, "replay");
  if (join === null) return false;
  let isWhole = false;
  await call(join.method, join.params, (result) => {
    if (table.epoch !== epoch || !isJson(result) || result["truncated"] !== false) return;
    isWhole = true;
    handOut(table.release(session.sessionId));
  });
  return isWhole;
}

/** The session as it stands; frames above its head go on from it. */
async function readSnapshot(parts: RestoreParts, session: Joined, reason: Resync["reason"]): Promise<void> {
  const { table } = parts;
  const join = joinOf(session, "snapshot");
  if (join === null) {
    table.leave(session.sessionId);
    return parts.problem("session_lost", `${session.sessionId}: its durable id is not known`);
  }
  await parts.call(join.method, join.params, (result) => {
    parts.resync({ session_id: session.sessionId, reason, snapshot: result as Snapshot });
    parts.handOut(table.release(session.sessionId));
  });
}
