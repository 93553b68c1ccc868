import { hostDefaults, type Notice } from "../../../core/index.ts";
import type { Isolation } from "../../plugin-control.ts";
import type { TestedPlugin, TestHost } from "../test-host.ts";
import { turnsOfLoop } from "../waiting.ts";
import type { CheckSpec, Trial } from "./options.ts";
import { grown, resources } from "./resources.ts";
import { placeIn, story } from "./story.ts";
import { expectSound, failed, roomOf, withHost } from "./trial.ts";

/**
 * So often a plugin is loaded: what it leaves behind each time is then more than what others come and go with. In a worker
 * everything else ends with its thread, and each start of one takes its time.
 */
const cyclesIn: Readonly<Record<Isolation, number>> = { inline: 20, worker: 5 };

const undoAdvice =
  "Register with ctx.defer what ends each timer, socket and listener, in the line after the one that begins it.";

/** Puts events on their way, and waits for nothing. */
function feedTurn(host: TestHost, turn: number): void {
  const ids = { turn_id: `t-${turn}`, task_id: `k-${turn}` };
  for (const event of story(placeIn(roomOf(host), ids))) host.observers.feed(event);
}

/** What stands in the host of the plugin, in words; null when nothing does. */
function leftOf(host: TestHost): string | null {
  const handlers = host.observers.consumersOf(host.id).length;
  const info = host.info();
  const routes = info?.routes.length ?? 0;
  const commands = info?.commands.length ?? 0;
  return handlers + routes + commands === 0 ? null : `${handlers} handlers, ${routes} routes, ${commands} commands`;
}

const reloads: CheckSpec = {
  name: "leaves nothing behind when it is loaded and unloaded again and again",
  run: (trial) =>
    withHost(trial, async (host) => {
      const room = roomOf(host);
      const cycles = cyclesIn[trial.isolation];
      await host.unload();
      const before = resources();
      const { timers } = host.clock;
      for (let cycle = 0; cycle < cycles; cycle++) {
        await host.load();
        for (const event of story(placeIn(room, { turn_id: `t-${cycle}`, task_id: `k-${cycle}` })))
          host.observers.feed(event);
        await host.settled({ timeGoesOn: true });
        await host.unload();
      }
      const left = leftOf(host) ?? (await grown(before, cycles));
      const waiting = host.clock.timers - timers;
      const found = left ?? (waiting >= cycles ? `${waiting} timers of ctx.clock` : null);
      if (found !== null) throw failed("nothing left after unloading", found, undoAdvice);
    }),
};

const failingSetup: CheckSpec = {
  name: "leaves nothing behind when its setup fails",
  run: (trial) =>
    withHost(trial, async (host) => {
      const handlers = host.observers.consumersOf(host.id).length;
      await host.unload();
      const before = resources();
      // Its last handler is refused, when everything before it is there; of one without handlers the end of the setup fails.
      host.observers.refuseFrom(Math.max(handlers, 1));
      const cycles = cyclesIn[trial.isolation];
      for (let cycle = 0; cycle < cycles; cycle++) {
        const loading = handlers > 0 ? host.load() : host.load(failingAtTheEnd(trial));
        const isLoaded = await loading.then(
          () => true,
          () => false,
        );
        if (isLoaded) await host.unload();
      }
      host.observers.refuseFrom(Infinity);
      const found = leftOf(host) ?? (await grown(before, cycles));
      if (found !== null) throw failed("nothing left of a setup that failed", found, undoAdvice);
      await host.load();
      await expectSound(host, "a setup that failed before");
    }),
};

/** The same plugin, whose setup fails when it is done. Of one at a path, which runs where nobody else is, it is as it was. */
function failingAtTheEnd({ options }: Trial): TestedPlugin {
  if ("path" in options) return { path: options.path, config: options.config, grants: options.grants ?? [] };
  const { plugin, config, grants = [] } = options;
  const setup = async (...given: Parameters<typeof plugin.setup>): Promise<never> => {
    await plugin.setup(...given);
    throw new Error("the check has it fail");
  };
  const failing = Object.create(plugin, { setup: { value: setup } }) as typeof plugin;
  return { plugin: failing, config, grants };
}

const busyUnload: CheckSpec = {
  name: "is unloaded while a handler runs",
  run: (trial) =>
    withHost(trial, async (host) => {
      const openStorage = host.values.gate.close();
      for (let turn = 1; turn <= 4; turn++) feedTurn(host, turn);
      await turnsOfLoop(1);
      const unloading = host.unload();
      await turnsOfLoop(2);
      openStorage();
      await unloading;
      const { calls } = host.observers;
      feedTurn(host, 5);
      await expectSound(host, "an unload in the middle of it");
      await turnsOfLoop(20);
      await expectSound(host, "an unload in the middle of it");
      expectUndone(host, "unloading");
      const left = leftOf(host) ?? (host.observers.calls > calls ? "calls of handlers after it" : null);
      if (left !== null) throw failed("nothing left after unloading", left, undoAdvice);
    }),
};

const drain: CheckSpec = {
  name: "has written down what it holds when it is stopped, in time",
  run: (trial) =>
    withHost(trial, async (host) => {
      for (let turn = 1; turn <= 4; turn++) feedTurn(host, turn);
      await host.disable();
      const { drainMs } = hostDefaults;
      const late = host.notices.find((notice) => isStep(notice, host, "draining"));
      if (late === undefined) return;
      throw failed(
        `a hook of ctx.onDrain that ends within ${drainMs} ms`,
        late.message,
        "Write down only what is held, and heed the deadline that the hook is given.",
      );
    }),
};

const reverse: CheckSpec = {
  name: "is undone in reverse order, each step without a fault",
  run: (trial) =>
    withHost(trial, async (host) => {
      for (let turn = 1; turn <= 2; turn++) feedTurn(host, turn);
      await host.settled({ timeGoesOn: true });
      const registered = host.observers.consumersOf(host.id);
      host.observers.undone.splice(0);
      await host.unload();
      expectUndone(host, "unloading");
      const undone = host.observers.undone.filter((id) => registered.includes(id));
      if (undone.join() === registered.toReversed().join()) return;
      throw failed(
        `handlers undone in reverse, ${registered.toReversed().join(", ")}`,
        undone.join(", ") || "none",
        "Leave the undoing to the host; ctx.signal is for what waits, not for closing what others still use.",
      );
    }),
};

function isStep({ subject, message }: Notice, host: TestHost, what: string): boolean {
  return subject === host.id && message.includes(`a step of its ${what} failed`);
}

/** @throws RoomtapError `check_failed` for a step of the unloading that failed */
function expectUndone(host: TestHost, what: string): void {
  const fault = host.notices.find((notice) => isStep(notice, host, what));
  if (fault === undefined) return;
  throw failed(
    `an ${what} whose steps all end`,
    fault.message,
    "Have what ctx.defer is given neither throw nor wait for ever.",
  );
}

/** How every plugin must come and go. */
export const lifecycleChecks: readonly CheckSpec[] = [reloads, failingSetup, busyUnload, drain, reverse];
