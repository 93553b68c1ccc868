import { describe, expect, it } from "vitest";
import { systemClock } from "../../../core/index.ts";
import type { RoomtapRoom } from "../../../index.ts";
import { DrivenAgent, type DrivenTurn } from "../../support/driven-agent.ts";
import { openPageHost, shoot, type PageHost } from "../../support/page-host.ts";

// What a real browser shows of a real host. It takes its time to start.
const timeoutMs = 60_000;

function roomOf(agent: DrivenAgent): RoomtapRoom {
  return {
    ...{ room_id: "release", name: "Release", policy: { maxRounds: 1, maxOwedPasses: 0 } },
    members: [{ handle: "planner", runner: agent }],
  };
}

/** A host with a room, and a turn of its member that runs. */
async function openTurn(): Promise<PageHost & { readonly turn: DrivenTurn; readonly driven: DrivenAgent }> {
  const driven = new DrivenAgent();
  const host = await openPageHost({ rooms: [roomOf(driven)] });
  await host.tap.room("release").post({ text: "look over the plan" });
  return { ...host, driven, turn: await driven.turn() };
}

describe("a first visit", () => {
  it(
    "signs in by the link, which is good once, and leaves no ticket in the address",
    { timeout: timeoutMs },
    async () => {
      const host = await openPageHost({ rooms: [roomOf(new DrivenAgent())] });
      const link = await host.gateway.link(host.http);
      const page = await host.visit(new URL(link).hash);
      await page.getByRole("heading", { name: "Rooms" }).waitFor();
      await page.getByRole("link", { name: "Release" }).waitFor();
      expect(new URL(page.url()).hash).toBe("#/rooms");
      await shoot(page, "rooms");
      const second = await host.visit(new URL(link).hash);
      await second.getByText("each lets in once").waitFor();
      expect(host.faults).toEqual([]);
    },
  );

  it("signs in with a token, and stays signed in over a reload", { timeout: timeoutMs }, async () => {
    const host = await openPageHost({ rooms: [roomOf(new DrivenAgent())] });
    const page = await host.visit();
    await page.getByLabel("Token").fill(host.gateway.token);
    await shoot(page, "sign-in");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("link", { name: "Release" }).waitFor();
    await page.reload();
    await page.getByRole("link", { name: "Release" }).waitFor();
    expect(host.faults).toEqual([]);
  });

  it("says that a token is wrong, and lets somebody try again", { timeout: timeoutMs }, async () => {
    const host = await openPageHost({ rooms: [roomOf(new DrivenAgent())] });
    const page = await host.visit();
    await page.getByLabel("Token").fill("gw_wrong_0123456789abcdef");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("The server does not know this token.").waitFor();
    await page.getByLabel("Token").fill(host.gateway.token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("link", { name: "Release" }).waitFor();
    expect(host.faults).toEqual([]);
  });

  it("says in an empty host what to do", { timeout: timeoutMs }, async () => {
    const host = await openPageHost();
    const page = await host.open();
    await page.getByText("No rooms yet").waitFor();
    await page.goto(`${host.http}/#/approvals`);
    await page.getByText("Nothing waits for a person").waitFor();
    expect(host.faults).toEqual([]);
  });
});

describe("a live turn", () => {
  it("shows which tool a member runs now, and its end", { timeout: timeoutMs }, async () => {
    const host = await openTurn();
    const page = await host.open("#/rooms/release");
    const members = page.getByRole("list", { name: "Members" });
    host.turn.emit("tool.start", { tool_id: "c1", name: "read_file", args: { path: "plan.md" } });
    await members.getByText("running: read_file").waitFor();
    await page.getByRole("cell", { name: "1, now read_file" }).waitFor();
    await shoot(page, "room");
    host.turn.emit("tool.complete", { tool_id: "c1", outcome: "error", error: "no such file" });
    host.turn.end({ status: "failed", reason_code: "provider_rate_limit", error: "slow down: 429" });
    await members.getByText("failed: provider rate limit").waitFor();
    await page
      .getByRole("row", { name: /@planner/ })
      .getByRole("link")
      .click();
    await page.getByText("slow down: 429").waitFor();
    await page.getByText("no such file").waitFor();
    await page.getByText("usage not reported").waitFor();
    await shoot(page, "turn");
    expect(host.faults).toEqual([]);
  });

  it("answers an approval, and the turn goes on", { timeout: timeoutMs }, async () => {
    const host = await openTurn();
    const page = await host.open("#/approvals");
    const answered = host.turn.ask("approval", { command: "rm -rf build" });
    await page.getByText("rm -rf build").waitFor();
    await page.getByRole("link", { name: /Approvals\s*1 open/ }).waitFor();
    await shoot(page, "approvals");
    await page.getByRole("button", { name: "Allow once" }).click();
    expect(await answered).toMatchObject({ outcome: "answered", choice: "once" });
    await page.getByText("Nothing waits for a person").waitFor();
  });

  it("comes back after a drop, and nothing is missing", { timeout: timeoutMs }, async () => {
    const host = await openTurn();
    const page = await host.open(`#/rooms/release/turns/${host.turn.turn.turn_id}`);
    host.turn.emit("tool.start", { tool_id: "c1", name: "before" });
    await page.getByText("before").waitFor();
    host.drop();
    await page.getByText("coming back").waitFor();
    host.turn.emit("tool.complete", { tool_id: "c1", outcome: "ok" });
    host.turn.end({ status: "completed", text: "all done" });
    await page.getByText("all done").waitFor();
    expect(host.faults).toEqual([]);
  });
});

/** A turn with so many tool calls and pieces of text, and its end. */
async function flood({ turn }: { readonly turn: DrivenTurn }, calls: number): Promise<void> {
  for (let call = 0; call < calls; call++) {
    turn.emit("tool.start", { tool_id: `c${call}`, name: `step ${call}` });
    turn.delta(`text ${call}. `);
    turn.emit("tool.complete", { tool_id: `c${call}`, outcome: "ok" });
    // As fast as a client is sent them, not as fast as a loop makes them.
    if (call % 50 === 49) await new Promise((next) => void systemClock.after(5, () => next(undefined)));
  }
  turn.end({ status: "completed", text: "the end" });
}

describe("a post", () => {
  it("goes to the room, and a stop ends what it caused", { timeout: timeoutMs }, async () => {
    const driven = new DrivenAgent();
    const host = await openPageHost({ rooms: [roomOf(driven)] });
    const page = await host.open("#/rooms/release");
    await page.getByLabel("Post to Release").fill("build it");
    await page.getByRole("button", { name: "Send" }).click();
    expect((await driven.turn()).text).toBe("build it");
    await page.getByRole("button", { name: "Stop all" }).click();
    await page.getByRole("row", { name: /cancelled stopped/ }).waitFor();
    expect(await page.getByLabel("Post to Release").inputValue()).toBe("");
    expect(host.faults).toEqual([]);
  });
});

describe("much at once", () => {
  it("shows a turn of 10,000 events, counts each, and answers clicks", { timeout: timeoutMs }, async () => {
    const host = await openTurn();
    const page = await host.open("#/rooms/release");
    await page.getByRole("row", { name: /@planner/ }).waitFor();
    await flood(host, 3_333);
    // turn.started came before the page; 3 of each call, and turn.settled.
    const { last } = (await host.tap.room("release").state()).members[0] ?? {};
    expect(last?.status ?? "running").toMatch(/running|completed/);
    await page.getByRole("row", { name: /completed/ }).waitFor();
    await page.getByText("10,000 events").first().waitFor();
    await page.getByRole("cell", { name: "3,333" }).waitFor();
    await page.getByRole("button", { name: "All", exact: true }).click();
    await page.getByRole("button", { name: "Go on" }).waitFor();
    await shoot(page, "ten-thousand-events");
    expect(host.faults).toEqual([]);
  });

  it("changes nothing for the room when the page is frozen", { timeout: timeoutMs }, async () => {
    const host = await openTurn();
    const page = await host.open("#/rooms/release");
    await page.getByRole("row", { name: /@planner/ }).waitFor();
    const client = await host.connect();
    await client.call("rooms.subscribe", { room_id: "release", payload: "meta", kinds: ["turn.settled"] });
    // It reads nothing any more, and its socket stays.
    void page.evaluate("for (;;) {}").catch(() => undefined);
    await flood(host, 3_333);
    const settled = await client.eventWhere("room.activity", ({ payload }) => payload?.["kind"] === "turn.settled");
    expect(settled.payload?.["payload"]).toMatchObject({ status: "completed", activity_count: 10_001 });
    for (const { depth, bytes } of host.tap.stats()) expect([depth <= 1_024, bytes <= 4_194_304]).toEqual([true, true]);
  });
});
