import { onTestFinished } from "vitest";
import type { Clock, Notice } from "../../core/index.ts";
import { openSqliteLog, type SessionQuota, type SqliteSessionStore } from "../../rooms/index.ts";
import { loopClock } from "./open-log.ts";

interface Options {
  readonly file?: string;
  readonly clock?: Clock;
  readonly quota?: Partial<SessionQuota>;
}

/** A store with what it reported, closed with the test. */
export async function openSessions(
  options: Options = {},
): Promise<{ readonly store: SqliteSessionStore; readonly notices: Notice[]; readonly close: () => Promise<void> }> {
  const { file = ":memory:", clock = loopClock(), quota } = options;
  const notices: Notice[] = [];
  const sessionQuota = { maxStoredSessions: 100, maxSessionMessages: 1_000, maxTranscriptBytes: 1_000_000, ...quota };
  const log = await openSqliteLog({ file, clock, report: (notice) => void notices.push(notice), sessionQuota });
  onTestFinished(() => log.close());
  return { store: log.sessions, notices, close: () => log.close() };
}
