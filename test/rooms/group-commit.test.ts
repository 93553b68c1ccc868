import { describe, expect, it, onTestFinished } from "vitest";
import { RoomtapError } from "../../core/index.ts";
import type { SqliteDatabase } from "../../rooms/sqlite/database.ts";
import { GroupCommit } from "../../rooms/sqlite/group-commit.ts";
import { openHostDatabase } from "../../rooms/sqlite/open.ts";
import { loopClock } from "../support/open-log.ts";

interface Counted {
  readonly commits: GroupCommit;
  readonly database: SqliteDatabase;
  /** Operations of each transaction that was tried. */
  readonly groups: number[];
  /** A value's own operation. */
  readonly give: <Value>(value: Value) => () => Value;
}

async function counted(): Promise<Counted> {
  const clock = loopClock();
  const database = await openHostDatabase({ file: ":memory:", clock });
  onTestFinished(() => database.close());
  const groups: number[] = [];
  const transact = database.transact.bind(database);
  database.transact = (work) => {
    groups.push(0);
    return transact(work);
  };
  const give =
    <Value>(value: Value) =>
    () => {
      groups.push((groups.pop() ?? 0) + 1);
      return value;
    };
  return { commits: new GroupCommit(database, clock, () => undefined), database, groups, give };
}

describe("group commit", () => {
  it("commits what one tick asked for together, and answers in order", async () => {
    const { commits, groups, give } = await counted();
    const answered: number[] = [];
    const all = Array.from({ length: 100 }, (_, index) =>
      commits.run(give(index)).then((value) => void answered.push(value)),
    );
    await Promise.all(all);
    expect(groups).toEqual([100]);
    expect(answered).toEqual(Array.from({ length: 100 }, (_, index) => index));
  });

  it.each([
    [255, [255]],
    [256, [256]],
    [257, [256, 1]],
  ])("puts %i operations of a tick into transactions of %j", async (count, expected) => {
    const { commits, groups, give } = await counted();
    await Promise.all(Array.from({ length: count }, (_, index) => commits.run(give(index))));
    expect(groups).toEqual(expected);
  });

  it("answers nothing before the commit", async () => {
    const { commits, database } = await counted();
    database.exec("CREATE TABLE seen (n INTEGER)");
    const count = database.prepare<[], number>("SELECT count(*) FROM seen").pluck();
    const open = commits.run(() => database.exec("INSERT INTO seen VALUES (1)"));
    expect(count.get()).toBe(0);
    await open;
    expect(count.get()).toBe(1);
  });

  it("runs the others alone when one throws, and rolls that one back", async () => {
    const { commits, database, groups, give } = await counted();
    database.exec("CREATE TABLE seen (n INTEGER)");
    const insertThenThrow = (): never => {
      database.exec("INSERT INTO seen VALUES (1)");
      throw new RoomtapError("log_corrupt", "room r1: row 7 is damaged");
    };
    const results = await Promise.allSettled([
      commits.run(give("first")),
      commits.run(insertThenThrow),
      commits.run(give("last")),
    ]);
    expect(results).toMatchObject([
      { status: "fulfilled", value: "first" },
      { status: "rejected", reason: { code: "log_corrupt" } },
      { status: "fulfilled", value: "last" },
    ]);
    expect(groups).toEqual([1, 1, 0, 1]);
    expect(database.prepare<[], number>("SELECT count(*) FROM seen").pluck().get()).toBe(0);
  });

  it("fails a whole group, once, for a fault of the database", async () => {
    const { commits, groups, give } = await counted();
    const full = (): never => {
      throw new RoomtapError("log_full", "no space");
    };
    const results = await Promise.allSettled([commits.run(give(1)), commits.run(full), commits.run(give(3))]);
    expect(results.map((result) => result.status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(groups).toHaveLength(1);
  });
});
