import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { turnOf } from "../../../support/asked-host.ts";
import { numbers } from "../../../support/fan-out.ts";
import { watchedGateway } from "../../../support/jammed-client.ts";
import { loopClock, temporaryFolder } from "../../../support/open-log.ts";
import { newSession, type HostClient } from "../../../support/open-host.ts";
import { ownersAuth, roster, sharedHost } from "../../../support/shared-host.ts";
import { turnsOfLoop } from "../../../support/turns-of-loop.ts";

function seqs(client: HostClient): readonly (number | undefined)[] {
  return client.events().flatMap(({ seq }) => (seq === undefined ? [] : [seq]));
}

describe("what is kept of a session", () => {
  it("S44 is the same with no observer and with three", async () => {
    const { o, as, agent } = await sharedHost();
    const kept: unknown[] = [];
    for (const observers of [[], ["x", "y", "z"]]) {
      const { session_id } = await newSession(o);
      await o.call("session.visibility", { session_id, visibility: "shared" });
      for (const name of observers) await (await as(name)).call("session.attach", { session_id });
      const turn = await turnOf({ agent }, o, session_id);
      await o.settled();
      const before = await o.call("session.events.stats");
      const { latest_seq: head } = await o.call("session.events.since", { session_id });
      for (let event = 0; event < 10; event++) turn.emit("status.update", { kind: "status", text: `${event}` });
      const { latest_seq, events } = await o.call("session.events.since", { session_id, last_seen: head });
      const after = await o.call("session.events.stats");
      const grown = (key: string): number => Number(after[key]) - Number(before[key]);
      const { length } = JSON.stringify(head).padStart(3, "0");
      kept.push([Number(latest_seq) - Number(head), (events as unknown[]).length, grown("events"), length]);
      // Numbers of two digits take the same in both.
      expect([Number(head) < 10 ? 0 : 1, Number(latest_seq) < 100]).toEqual([Number(head) < 10 ? 0 : 1, true]);
      kept.push(
        grown("bytes") - String(Array.from({ length: 10 }, (_, index) => Number(head) + 1 + index).join("")).length,
      );
      turn.end();
    }
    expect(kept.slice(0, 2)).toEqual(kept.slice(2));
    expect(kept[0]).toEqual([10, 10, 10, 3]);
  });

  it("S45 comes to an observer that names what it has seen, each once, then what is live", async () => {
    const { o, session_id, as, agent } = await sharedHost();
    const turn = await turnOf({ agent }, o, session_id);
    await o.settled();
    for (let event = Number(seqs(o).at(-1)); event < 10; event++)
      turn.emit("status.update", { kind: "status", text: "x" });
    await o.settled();
    expect(seqs(o)).toEqual(numbers(1, 10));
    const v = await as("v");
    const { latest_seq, inflight, truncated } = await v.call("session.attach", { session_id, last_seen: 4 });
    expect([latest_seq, inflight, truncated]).toEqual([10, null, false]);
    turn.delta("live");
    await v.event("message.delta");
    // The eleventh tells that it has come.
    expect(seqs(v)).toEqual(numbers(5, 12));
    expect(v.events().slice(0, 6)).toEqual(o.events().slice(4, 10));
    const { events } = await v.call("session.events.since", { session_id, last_seen: 0 });
    expect((events as { seq: number }[]).map(({ seq }) => seq)).toEqual(numbers(1, 12));
    await v.call("session.detach", { session_id });
    expect(await v.call("session.events.since", { session_id, last_seen: 0 })).toMatchObject({
      ...{ events: [], latest_seq: 0, truncated: false },
    });
    expect(await v.call("session.events.since", { session_id, last_seen: 4 })).toMatchObject({ truncated: true });
  });

  it("S48 after a restart has its visibility, and its owner alone", async () => {
    const db = join(temporaryFolder(), "host.db");
    const first = await sharedHost({ db });
    const { session_id, stored_session_id } = first;
    const [m, v] = [await first.observer("m", "member"), await first.observer("v")];
    expect(await roster(m, session_id, { o: first.o, m, v })).toHaveLength(3);
    await first.close();
    const second = await sharedHost({ db });
    const { o, as } = second;
    const late = await as("v");
    expect(await late.refused("session.attach", { session_id: stored_session_id })).toEqual([4001, "unknown_session"]);
    const resumed = await o.call("session.resume", { session_id: stored_session_id });
    expect(resumed).toMatchObject({ visibility: "shared", role: "owner" });
    const again = String(resumed["session_id"]);
    expect(await roster(o, again, { o })).toEqual(["o owner"]);
    expect(await late.call("session.attach", { session_id: again })).toMatchObject({ role: "viewer" });
  });
});

describe("a connection that loses a scope", () => {
  it("S50 gets no frame of others any more, keeps its seat, and its own stream goes on", async () => {
    const host = await sharedHost({ rights: { v: {} }, clock: loopClock() });
    const { o, session_id, as, agent } = host;
    const auth = ownersAuth({ v: {} });
    const watched = await watchedGateway(host, { gateway: { auth }, principal: "v" });
    const token = auth.tokens.find(({ principal }) => principal === "v")?.token ?? "";
    const owner = await watched.connect(token);
    const v = await watched.connect(token);
    await v.call("session.attach", { session_id });
    const s3 = await newSession(owner);
    const [one, three] = [await turnOf({ agent }, o, session_id), await turnOf({ agent }, owner, s3.session_id)];
    await v.event("message.start");
    await v.settled();
    const before = v.events().length;
    await watched.jam(v.ws, (long, nth) =>
      v.send({ jsonrpc: "2.0", id: `fill-${nth}`, method: "session.history", params: { session_id: long } }),
    );
    for (let frame = 0; frame < 5; frame++) one.emit("status.update", { kind: "status", text: "waits" });
    await turnsOfLoop(2);
    expect(watched.gateway.reload(ownersAuth({ v: { scopes: ["write"] } }))).toBe(0);
    one.emit("status.update", { kind: "status", text: "later" });
    three.delta("mine");
    await owner.event("message.delta");
    v.ws.resume();
    await v.settled();
    expect(v.events().slice(before)).toEqual([]);
    expect(await roster(o, session_id, { o, v })).toEqual(["o owner", "v viewer"]);
    three.say("and on");
    expect((await owner.event("message.complete")).payload).toMatchObject({ text: "mineand on" });
    // With the scope it goes on where it stands.
    watched.gateway.reload(auth);
    one.delta("again");
    expect((await v.event("message.delta")).payload).toEqual({ text: "again" });
    expect(await as("v")).toBeDefined();
  });
});
