import type { ActivityEvent } from "../../../core/index.ts";
import type { TestHost } from "../test-host.ts";
import { brokenEvents, edgeEvents, namelessGap } from "./edge-events.ts";
import type { CheckSpec } from "./options.ts";
import { eventOf, placeIn, story } from "./story.ts";
import { expectSame, expectSound, failed, roomOf, withHost } from "./trial.ts";

async function deliver(host: TestHost, events: readonly (ActivityEvent | { readonly kind: string })[]): Promise<void> {
  for (const event of events) {
    await host.deliver(event);
    // What a handler awaits may wait for time.
    await host.settled({ timeGoesOn: true });
  }
}

/** A gap of a queue that overflowed, and one that names no attempt. */
const gap: CheckSpec = {
  name: "goes on after a gap",
  run: (trial) =>
    withHost(
      trial,
      async (host) => {
        await host.lag(3);
        await expectSound(host, "a gap");
        await deliver(host, [namelessGap]);
        await deliver(host, story(placeIn(roomOf(host))));
        await expectSound(host, "a gap that names no attempt");
        const untold = host.stats().find(({ dropped, gaps }) => dropped > 0 && gaps === 0);
        if (untold === undefined) return;
        throw failed(
          "a gap for what was lost",
          `none told to ${untold.id}`,
          "This is a fault of roomtap: tell its authors.",
        );
      },
      { bounds: { maxEvents: 2 } },
    ),
};

const duplicate: CheckSpec = {
  name: "takes an event that comes twice for one",
  run: (trial) =>
    expectSame(trial, "events that come twice", [
      (host) => deliver(host, story(placeIn(roomOf(host)))),
      (host) =>
        deliver(
          host,
          story(placeIn(roomOf(host))).flatMap((event) => [event, event]),
        ),
    ]),
};

const stale: CheckSpec = {
  name: "leaves out an event of an earlier generation",
  run: (trial) => {
    const play = async (host: TestHost, isStale: boolean): Promise<void> => {
      const first = placeIn(roomOf(host));
      const second = placeIn(roomOf(host), { execution_generation: 2 });
      const again = story(second);
      const late = eventOf(first, 12, "tool.completed", {
        tool_id: "tool-9",
        name: "late",
        outcome: "ok",
        result: "late",
      });
      await deliver(host, [...story(first), ...again.slice(0, 5), ...(isStale ? [late] : []), ...again.slice(5)]);
    };
    return expectSame(trial, "an event of an earlier generation", [
      (host) => play(host, false),
      (host) => play(host, true),
    ]);
  },
};

const late: CheckSpec = {
  name: "leaves out an event behind the end of its turn",
  run: (trial) => {
    const play = async (host: TestHost, isLate: boolean): Promise<void> => {
      const place = placeIn(roomOf(host));
      const events = [
        eventOf(place, 14, "message.delta", { text: "late", offset: 7 }),
        eventOf(place, 15, "tool.started", { tool_id: "tool-9", name: "late" }),
        eventOf(place, 16, "tool.completed", { tool_id: "tool-9", name: "late", outcome: "ok" }),
      ];
      await deliver(host, [...story(place), ...(isLate ? events : [])]);
    };
    return expectSame(trial, "events behind the end", [(host) => play(host, false), (host) => play(host, true)]);
  },
};

const twins: CheckSpec = {
  name: "tells two members with equal numbers apart",
  run: (trial) => {
    const storiesOf = (host: TestHost): readonly (readonly ActivityEvent[])[] =>
      ["m-a", "m-b"].map((member_id) => {
        const ids = { turn_id: `t-${member_id}`, task_id: `k-${member_id}` };
        return story(placeIn(roomOf(host), { member_id, ...ids }));
      });
    return expectSame(trial, "two turns side by side", [
      (host) => deliver(host, storiesOf(host).flat()),
      async (host) => {
        const [one = [], other = []] = storiesOf(host);
        await deliver(
          host,
          one.flatMap((event, at) => [event, ...other.slice(at, at + 1)]),
        );
      },
    ]);
  },
};

const odd: CheckSpec = {
  name: "takes payloads at the edge of what may come, and outlives those beyond",
  run: (trial) =>
    withHost(trial, async (host) => {
      const place = placeIn(roomOf(host));
      await deliver(host, edgeEvents(place));
      await expectSound(host, "payloads that the types allow");
      await deliver(host, brokenEvents(placeIn(roomOf(host), { turn_id: "t-2", task_id: "k-2" })));
      // A handler may refuse those by throwing; what counts is that it goes on.
      host.observers.faults.splice(0);
      await deliver(host, story(placeIn(roomOf(host), { turn_id: "t-3", task_id: "k-3" })));
      await expectSound(host, "a plain turn after payloads that are none");
    }),
};

const future: CheckSpec = {
  name: "lets kinds pass that are not there yet",
  run: (trial) =>
    withHost(trial, async (host) => {
      const place = placeIn(roomOf(host));
      const families = ["turn", "tool", "message", "reasoning", "request", "sandbox"];
      const events = families.map((family, index) => ({
        ...eventOf(place, index + 2, "turn.error", { message: "" }),
        kind: `${family}.not_there_yet`,
        payload: { note: "of a later version" },
      }));
      const [first, ...rest] = story(place);
      await deliver(host, [...(first === undefined ? [] : [first]), ...events, ...rest]);
      await expectSound(host, "kinds of a later version");
    }),
};

/** What every plugin must make of events. */
export const eventChecks: readonly CheckSpec[] = [gap, duplicate, stale, late, twins, odd, future];
