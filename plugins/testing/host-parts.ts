import { countingIds, createRedactor, Tap, type Notice, type Report } from "../../core/index.ts";
import { openSqliteLog, RoomHost } from "../../rooms/index.ts";
import { PluginHost } from "../host.ts";
import { maskedReport } from "../notices.ts";
import type { Logger } from "../plugin.ts";
import { GatedValues } from "./gated-values.ts";
import { TestClock } from "./test-clock.ts";
import { TestObservers, type TestBounds } from "./test-observers.ts";
import { roomOf, type TestRoom } from "./test-room.ts";
import { TestRooms } from "./test-rooms.ts";

/** Notices and lines of the log that are kept, each; later ones are dropped. */
const maxKept = 10_000;

/** A line that a plugin logged. */
export interface LogLine {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The layers of a test host, put together as a host does it. */
export interface HostParts {
  readonly clock: TestClock;
  readonly observers: TestObservers;
  readonly tap: Tap;
  readonly values: GatedValues;
  readonly plugins: PluginHost;
  readonly rooms: TestRooms;
  readonly notices: readonly Notice[];
  readonly logs: readonly LogLine[];
  /** Ends all but the plugins and the observers, which are ended between the two. */
  readonly closeRooms: () => Promise<void>;
  readonly closeLog: () => Promise<void>;
}

/** @throws RoomtapError for a room that is none */
export async function openParts(options: {
  readonly rooms: readonly TestRoom[];
  readonly secrets: readonly string[];
  readonly bounds: TestBounds;
}): Promise<HostParts> {
  const clock = new TestClock();
  const ids = countingIds();
  const redactor = createRedactor({ literals: options.secrets });
  const { notices, logs, report, logger } = collector();
  const masked = maskedReport(report, redactor);
  const observers = new TestObservers({ clock, report: masked, bounds: options.bounds });
  const tap = new Tap({ clock, ids, redactor, activity: observers, report: masked });
  const log = await openSqliteLog({ file: ":memory:", clock, report: masked });
  const values = new GatedValues(log.values);
  const definitions = options.rooms.map(roomOf);
  const openHost = async (): Promise<RoomHost> => {
    try {
      return await RoomHost.open({ log, tap, clock, ids, report: masked, rooms: definitions });
    } catch (fault) {
      await log.close();
      throw fault;
    }
  };
  let openRooms: (host: RoomHost) => void = () => undefined;
  const opened = new Promise<RoomHost>((resolve) => (openRooms = resolve));
  const plugins = new PluginHost({
    ...{ clock, observers, values, logger, report: masked, requests: tap.requests },
    ...(definitions.length === 0 ? {} : { rooms: () => opened }),
  });
  const host = definitions.length === 0 ? null : await openHost();
  if (host !== null) openRooms(host);
  return {
    ...{ clock, observers, tap, values, plugins, notices, logs },
    rooms: new TestRooms(host),
    closeRooms: async () => host?.close(0),
    closeLog: () => log.close(),
  };
}

function collector(): {
  readonly notices: Notice[];
  readonly logs: LogLine[];
  readonly report: Report;
  readonly logger: Logger;
} {
  const notices: Notice[] = [];
  const logs: LogLine[] = [];
  const say =
    (level: LogLine["level"]) =>
    (message: string, fields: LogLine["fields"] = {}): void => {
      if (logs.length < maxKept) logs.push({ level, message, fields });
    };
  return {
    ...{ notices, logs },
    report: (notice) => void (notices.length < maxKept && notices.push(notice)),
    logger: { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") },
  };
}
