import { RoomtapError, type LiveSession } from "../../core/index.ts";
import { SeatedSessions, SessionSharing, type SeatedSessionsParts } from "../../rooms/index.ts";
import { openSessions, type OpenSessions, type OpenSessionsOptions } from "./open-sessions.ts";

/** Sessions in memory, shared in process, on a clock that stands still. */
export interface Seated {
  readonly sessions: OpenSessions;
  readonly seated: SeatedSessions;
  readonly sharing: SessionSharing;
  /** `client role` of each who is attached. */
  roster(sessionId: string): readonly string[];
  /** Payloads of `session.sharing`. */
  told(): readonly unknown[];
}

export function seatedSessions(
  options: OpenSessionsOptions & Partial<Pick<SeatedSessionsParts, "ownerGraceMs" | "concealPrivate">> = {},
): Seated {
  const { ownerGraceMs = 60_000, concealPrivate = false, ...given } = options;
  const sessions = openSessions(given);
  const { tap, clock, notices } = sessions.bus;
  const report = (notice: (typeof notices)[number]): void => void notices.push(notice);
  const seated = new SeatedSessions({ sessions: sessions.host, tap, clock, report, ownerGraceMs, concealPrivate });
  const sharing = new SessionSharing({ sessions: sessions.host, seated });
  return {
    ...{ sessions, seated, sharing },
    roster: (sessionId) => sharing.observers(sessionId).map(({ client_id, role }) => `${client_id} ${role}`),
    told: () => sessions.payloads("session.sharing"),
  };
}

/** The word by which a call is refused; `ok` when it is not. */
export async function wordOf(call: () => unknown): Promise<string> {
  try {
    await call();
    return "ok";
  } catch (fault) {
    if (fault instanceof RoomtapError) return fault.code;
    throw fault;
  }
}

/** A session of `O` under the id `s1`. */
export function createS1({ sharing }: Seated, visibility?: string): Promise<LiveSession> {
  return sharing.createSession("default", { clientId: "O", sessionId: "s1", visibility });
}
