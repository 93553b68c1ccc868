import { describe, expect, it } from "vitest";
import type { JsonObject, Scope } from "../../../../core/index.ts";
import { gatewayTable, type AuthConfig } from "../../../../plugins/gateway/index.ts";
import { turnOf } from "../../../support/asked-host.ts";
import {
  DrivenAgent,
  newSession,
  openHost,
  type DrivenTurn,
  type HostClient,
  type OpenHost,
} from "../../../support/open-host.ts";
import type { CameError } from "../../../support/host-client.ts";

/*
 * What somebody gets, by what it is in the session (columns) and by its scopes (letters in the cells). `open` is a stranger
 * to a session that others may attach to, and sees it; `hidden` one that does not, because it does not read; `private` one
 * to a private session; `admin` and `admin/p` one who is no stranger to any.
 *
 * `W ok`: with `write`, else 4300 that names it. `AR ok`: the letters are asked in this order. `- ok`: nothing is needed.
 */
const columns = ["owner", "member", "viewer", "open", "hidden", "private", "admin", "admin/p"] as const;
type Column = (typeof columns)[number];

const methodTable = `
method              owner  member   viewer  open    hidden  private  admin   admin/p
client.capabilities - ok   - ok     - ok    - ok    - ok    - ok     - ok    - ok
session.list        - ok   - ok     - ok    - ok    - ok    - ok     - ok    - ok
session.active_list - ok   - ok     - ok    - ok    - ok    - ok     - ok    - ok
session.resume      - ok   R 4305   R 4305  R 4311  R 4001  R 4001   - 4311  - 4311
session.activate    - ok   R 4305   R 4305  R 4311  R 4001  R 4001   - 4311  - 4311
session.history     - ok   R ok     R ok    R 4311  R 4001  R 4001   - 4311  - 4311
session.status      - ok   R ok     R ok    R 4311  R 4001  R 4001   - 4311  - 4311
session.usage       - ok   R ok     R ok    R 4311  R 4001  R 4001   - 4311  - 4311
session.observers   - ok   R ok     R ok    R 4311  R 4001  R 4001   - 4311  - 4311
session.events.since - ok  R ok     R ok    R ok    R ok    R ok     - ok    - ok
session.events.stats X ok  X ok     X ok    X ok    X ok    X ok     - ok    - ok
session.title       W ok   W ok     W ok    W 4311  W 4001  W 4001   - 4311  - 4311
session.title=      W ok   W 4309   W 4309  W 4309  W 4001  W 4001   - 4309  - 4309
session.visibility  W ok   W 4309   W 4309  W 4309  W 4001  W 4001   - ok    - ok
session.detach=     W ok   W 4309   W 4309  W 4309  W 4001  W 4001   - ok    - ok
prompt.submit       W ok   W ok     W 4308  W 4311  W 4001  W 4001   - 4311  - 4311
session.steer       W ok   W ok     W 4308  W 4311  W 4001  W 4001   - 4311  - 4311
session.redirect    W ok   W ok     W 4308  W 4311  W 4001  W 4001   - 4311  - 4311
clarify.lock        W ok   WR ok    W 4308  W 4311  W 4014  W 4014   - 4311  - 4311
request.answer      W ok   WR ok    W 4308  W 4311  W 4014  W 4014   - 4311  - 4311
request.answer=     A ok   AR ok    A 4308  A 4311  W 4014  W 4014   - 4311  - 4311
approval.pending    A ok   A ok     A ok    A 4311  A 4001  A 4001   - 4311  - 4311
approval.received   A ok   A ok     A ok    A ok    A ok    A ok     - ok    - ok
approval.respond    A ok   AR ok    A 4308  A 4311  A 4001  A 4001   - 4311  - 4311
session.interrupt   W ok   W ok     W 4308  W 4311  W 4001  W 4001   - 4311  - 4311
session.attach      / 4303 / ok     / ok    / ok    / ok    / 4301   - ok    - 4301
session.detach      - ok   - ok     - ok    - ok    - ok    - ok     - ok    - ok
session.close       W ok   W 4309   W 4309  W 4309  W ok    W ok     - ok    - ok
session.create      W ok   W ok     W ok    W ok    W ok    W ok     - ok    - ok
`;

/** What reaches somebody who is attached: with all the scopes of the cell, or never (`.`). Requests by their methods. */
const eventTable = `
event               owner  member   viewer
message.start       -      R        R
message.delta       -      R        R
message.complete    -      R        R
reasoning.delta     -      R        R
tool.start          -      R        R
tool.complete       -      R        R
todo.updated        -      R        R
notice              -      R        R
status.update       -      R        R
error               -      R        R
subagent.started    -      R        R
session.info        -      R        R
session.title       -      R        R
session.usage       -      R        R
session.sharing     -      R        R
clarify             W      WR       .
approval            A      AR       .
request.update      W      WR       .
request.cancel      W      WR       WR
resolved:clarify    W      WR       WR
resolved:approval   A      AR       AR
session.detached    .      -        -
session.reclaimed   -      R        R
`;

type Row = readonly [name: string, cells: ReadonlyMap<string, string>];

/** Rows of a table, each cell under the name of its column; cells are divided by the places of those names. */
function rowsOf(table: string): readonly Row[] {
  const [head = "", ...lines] = table.trim().split("\n");
  const names = head.trim().split(/\s+/).slice(1);
  return lines.map((line) => {
    const words = line.trim().split(/\s+/);
    const perCell = (words.length - 1) / names.length;
    const cells = names.map((name, index) => {
      const from = 1 + index * perCell;
      return [name, words.slice(from, from + perCell).join(" ")] as const;
    });
    return [words[0] ?? "", new Map(cells)];
  });
}

const words: Readonly<Record<string, Scope>> = { R: "read", W: "write", A: "approvals", X: "admin" };
const scopeSets = ["R", "W", "A", "RW", "RA", "WA", "RWA", "X"];
const standings = {
  private: ["owner", "none"],
  shared: ["owner", "member", "viewer", "none"],
  read_only: ["owner", "viewer", "none"],
} as const;
type Standing = "owner" | "member" | "viewer" | "none";

const combinations = Object.entries(standings).flatMap(([visibility, roles]) =>
  roles.flatMap((role) => scopeSets.map((held) => [visibility, role, held] as const)),
);

function columnOf(visibility: string, role: Standing, held: string): Column {
  if (role !== "none") return role;
  const isPrivate = visibility === "private";
  if (held === "X") return isPrivate ? "admin/p" : "admin";
  if (isPrivate) return "private";
  return held.includes("R") ? "open" : "hidden";
}

/** What a cell says of somebody with these scopes. */
function expectedOf(cell: string, held: string): string {
  const [needs = "", outcome = ""] = cell.split(" ");
  if (held === "X" || needs === "-") return outcome;
  if (needs === "/") return held.includes("R") || held.includes("W") ? outcome : "4300 read";
  const missing = [...needs].find((letter) => !held.includes(letter));
  return missing === undefined ? outcome : `4300 ${String(words[missing])}`;
}

interface Subject extends OpenHost {
  readonly boss: HostClient;
  readonly subject: HostClient;
  readonly turn: DrivenTurn;
  /** What came before had all scopes. */
  readonly from: number;
  readonly session_id: string;
  readonly stored_session_id: string;
}

const all = ["R", "W", "A", "X"].map((letter) => words[letter]).filter((scope) => scope !== undefined);

/** A session whose turn runs, its owner `boss`, and a connection that is there as `role` and has left to it what is held. */
async function subjectOf(visibility: string, role: Standing, held: string): Promise<Subject> {
  const authOf = (scopes: readonly Scope[]): AuthConfig => ({
    tokens: [
      { token: "gw-boss-0123456789abcdef", principal: "own", scopes: all },
      { token: "gw-subject-0123456789abcdef", principal: role === "owner" ? "own" : "other", scopes },
    ],
  });
  const agent = new DrivenAgent({ takes: () => true });
  const gateway = { auth: authOf(all), maxDeniedCalls: 1_000 };
  const host = await openHost({ agents: { default: agent }, gateway });
  const boss = await host.connect({ token: "gw-boss-0123456789abcdef", asks: true });
  const { session_id, stored_session_id } = await newSession(boss);
  if (visibility !== "private") await boss.call("session.visibility", { session_id, visibility });
  const subject = await host.connect({ token: "gw-subject-0123456789abcdef", asks: true });
  if (role === "owner") await subject.call("session.activate", { session_id });
  else if (role !== "none") await subject.call("session.attach", { session_id, role });
  await subject.settled();
  const from = subject.came.length;
  host.gateway.reload(authOf([...held].flatMap((letter) => words[letter] ?? [])));
  const turn = await turnOf({ agent }, boss, session_id);
  return { ...host, agent, boss, subject, turn, from, session_id, stored_session_id };
}

/** Params of the call of each row. */
async function callsOf(of: Subject, visibility: string, role: Standing): Promise<Readonly<Record<string, JsonObject>>> {
  const { session_id, stored_session_id, turn, boss } = of;
  void turn.ask("clarify", {
    questions: [
      { qid: "q1", question: "1?" },
      { qid: "q2", question: "2?" },
    ],
  });
  void turn.ask("clarify", { question: "3?" });
  void turn.ask("approval", { tool_name: "rm", command: "rm 1" });
  void turn.ask("approval", { tool_name: "rm", command: "rm 2" });
  const [batch, single] = [await boss.request("clarify"), await boss.request("clarify", 1)];
  const [first, second] = [await boss.request("approval"), await boss.request("approval", 1)];
  const { request_id } = second.params ?? {};
  const here = { session_id };
  const named = [
    "activate",
    "history",
    "status",
    "usage",
    "observers",
    "events.since",
    "title",
    "interrupt",
    "detach",
    "close",
  ];
  return {
    ...Object.fromEntries(named.map((name) => [`session.${name}`, here])),
    "session.resume": { session_id: stored_session_id },
    "session.title=": { ...here, title: "" },
    "session.visibility": { ...here, visibility },
    "session.detach=": { ...here, client_id: "c-nobody" },
    "prompt.submit": { ...here, text: "x", queued: true },
    "session.steer": { ...here, text: "x" },
    "session.redirect": { ...here, text: "x" },
    "session.attach": { ...here, role: role === "member" ? role : "viewer" },
    "clarify.lock": { request_id: batch.id, question_id: "q1", answer: "x" },
    "request.answer": { id: single.id, result: { answer: "x" } },
    "request.answer=": { id: first.id, result: { choice: "once" } },
    "approval.pending": here,
    "approval.received": { ...here, request_id },
    "approval.respond": { ...here, request_id, choice: "deny" },
  };
}

/** Its number, and the scope that is missing. */
function codeOf({ code, data }: CameError): string {
  const { required_scope } = data;
  return typeof required_scope === "string" ? `${code} ${required_scope}` : String(code);
}

const methodRows = rowsOf(methodTable);
const eventRows = rowsOf(eventTable);

describe("the matrix of methods", () => {
  it("has a row for each method of sessions and requests", () => {
    const ofRooms = /^(groups|rooms|gateway|consumers|plugins)\./;
    const names = gatewayTable.list().flatMap(({ name }) => (ofRooms.test(name) ? [] : [name]));
    expect([...new Set(methodRows.map(([name]) => name.replace("=", "")))].toSorted()).toEqual(names.toSorted());
  });

  it.each(combinations)("is as written for a %s session, %s, with %s", async (visibility, role, held) => {
    const of = await subjectOf(visibility, role, held);
    const calls = await callsOf(of, visibility, role);
    const column = columnOf(visibility, role, held);
    const found: string[] = [];
    const written: string[] = [];
    // Whoever observes is to be asked for all else before it goes.
    const isLast = ([name]: Row): boolean => name === "session.detach" && (role === "member" || role === "viewer");
    for (const [name, cells] of methodRows.toSorted((a, b) => Number(isLast(a)) - Number(isLast(b)))) {
      const { error } = await of.subject.ask(name.replace("=", ""), calls[name] ?? {});
      found.push(`${name} ${error === undefined ? "ok" : codeOf(error)}`);
      written.push(`${name} ${expectedOf(cells.get(column) ?? "", held)}`);
    }
    expect(found).toEqual(written);
  });
});

/** All that a session tells, once. */
async function tellAll({ tap, boss, turn, session_id, stored_session_id }: Subject, visibility: string): Promise<void> {
  turn.delta("text");
  turn.emit("reasoning.delta", { text: "thought" });
  turn.emit("tool.start", { tool_id: "t1", name: "look" });
  turn.emit("tool.complete", { tool_id: "t1", name: "look", outcome: "ok" });
  turn.emit("todo.updated", { todos: [], revision: 1 });
  turn.emit("notice", { message: "n" });
  turn.emit("status.update", { kind: "status", text: "s" });
  turn.emit("error", { message: "e" });
  turn.emit("subagent.started", {});
  void turn.ask("clarify", {
    questions: [
      { qid: "q1", question: "1?" },
      { qid: "q2", question: "2?" },
    ],
  });
  void turn.ask("approval", { tool_name: "rm", command: "rm 1" });
  const [clarify, approval] = [await boss.request("clarify"), await boss.request("approval")];
  await boss.call("clarify.lock", { request_id: clarify.id, question_id: "q1", answer: "x" });
  await boss.call("request.answer", { id: approval.id, result: { choice: "deny" } });
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  turn.end({ status: "completed", usage } as never);
  await boss.event("message.complete");
  await boss.call("session.title", { session_id, title: "t" });
  if (visibility !== "private") tap.sharing.attach(stored_session_id, "somebody");
  await boss.call("session.close", { session_id });
  await boss.event("session.reclaimed");
}

/** Names of what a client was told, as the table has them. */
function heardBy(client: HostClient, from: number): ReadonlySet<string> {
  return new Set(
    client.came.slice(from).flatMap(({ id, method, params }) => {
      if (id !== undefined) return typeof method === "string" ? [method] : [];
      const { type = "", payload = {} } = params ?? {};
      const of = String(payload["method"]);
      if (type === "request.cancel") return of === "clarify" ? [type] : [];
      return [type === "request.resolved" ? `resolved:${of}` : type];
    }),
  );
}

describe("the matrix of events", () => {
  it.each(combinations)("is as written for a %s session, %s, with %s", async (visibility, role, held) => {
    const of = await subjectOf(visibility, role, held);
    await tellAll(of, visibility);
    await of.subject.settled();
    const heard = heardBy(of.subject, of.from);
    const isTold = ([name, cells]: Row): boolean => {
      const needs = cells.get(role) ?? ".";
      if (name === "session.sharing" && visibility === "private") return false;
      return needs !== "." && (needs === "-" || held === "X" || [...needs].every((letter) => held.includes(letter)));
    };
    expect([...heard].toSorted()).toEqual(eventRows.flatMap((row) => (isTold(row) ? [row[0]] : [])).toSorted());
  });
});
