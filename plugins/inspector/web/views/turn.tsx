import { useEffect, useState } from "preact/hooks";
import { useNow, useRoom } from "../hooks.ts";
import { fragmentOf } from "../route.ts";
import type { RoomModel } from "../room-model.ts";
import type { Store } from "../store.ts";
import { handleOf, statusTexts, timeText } from "../words.ts";
import type { Certainty } from "../../view/attempt-coverage.ts";
import { durationText } from "../../../duration-text.ts";
import type { ToolNode } from "../../view/turn-calls.ts";
import { turnTree, type AttemptNode, type TurnTree } from "../../view/turn-tree.ts";
import { Block, Chip, Empty, Problem } from "./parts.tsx";

/** So many pages of older rows are read to find a turn. */
const maxPages = 20;

/** One turn: what it was asked, and each attempt with its tools, questions and text. */
export function TurnView(props: { readonly store: Store; readonly roomId: string; readonly turnId: string }) {
  const { store, roomId, turnId } = props;
  const room = useRoom(store, roomId, "details");
  const now = useNow();
  const [isSearching, setSearching] = useState(true);
  useEffect(() => {
    if (room === undefined) return;
    void find(store, room, turnId).finally(() => setSearching(false));
  }, [room]);
  const tree =
    room === undefined ? undefined : turnTree(room.activityOf(turnId), room.rows, { turnId, running: room.running });
  if (room === undefined || tree === undefined) {
    return (
      <Empty title={isSearching ? "Looking for the turn…" : "No such turn"}>
        <p>
          <a href={fragmentOf({ view: "room", roomId })}>The room {roomId}</a>
        </p>
      </Empty>
    );
  }
  return (
    <article>
      <h1>
        {handleOf(room, tree.member_id)}
        <a class="aside" href={fragmentOf({ view: "room", roomId })}>
          {room.name}
        </a>
      </h1>
      <Input tree={tree} />
      {tree.attempts.toReversed().map((attempt) => (
        <Attempt key={attempt.execution_generation} attempt={attempt} now={now} isOnly={tree.attempts.length === 1} />
      ))}
      <details>
        <summary>Ids</summary>
        <p>
          turn <code>{tree.turn_id}</code> task <code>{tree.task_id}</code> thread <code>{tree.thread_id}</code>
        </p>
      </details>
    </article>
  );
}

/** Reads older rows until one of the turn is there. */
async function find(store: Store, room: RoomModel, turnId: string): Promise<void> {
  for (let page = 0; page < maxPages; page++) {
    if (room.rows.some(({ turn_id, kind }) => turn_id === turnId && kind === "turn.started")) return;
    if (!(await store.readOlder(room))) return;
  }
}

function Input({ tree }: { readonly tree: TurnTree }) {
  if (tree.input === null) return <p class="muted">What it was asked stands in a row that was not read.</p>;
  return (
    <section>
      <h2>Asked</h2>
      {tree.input.map((item, index) => (
        <blockquote key={item.message_id ?? index}>
          <cite>{item.author ?? "somebody"}</cite>
          <p class="pre">{item.text ?? `as row ${String(item.row_seq)} says`}</p>
        </blockquote>
      ))}
    </section>
  );
}

function Attempt(props: { readonly attempt: AttemptNode; readonly now: number; readonly isOnly: boolean }) {
  const { attempt } = props;
  const { settled, text, reasoning, errors } = attempt;
  return (
    <section class="attempt">
      <AttemptHead {...props} />
      {settled === null || settled.error === null ? null : <Problem>{settled.error}</Problem>}
      {errors.list.map(({ n, message, reason }) => (
        <Problem key={n}>
          {reason === null ? "" : `${reason.replaceAll("_", " ")}: `}
          {message}
        </Problem>
      ))}
      {attempt.is_watched ? (
        <Calls attempt={attempt} />
      ) : (
        <p class="muted">
          It ran before this page looked: its tools were not stored. The log has its start and its end.
        </p>
      )}
      <TextBlock label="Text" node={text} />
      {reasoning.pieces.length === 0 ? (
        reasoning.withheld === 0 ? null : (
          <p class="muted">{reasoning.withheld} pieces withheld: they were not granted.</p>
        )
      ) : (
        <details>
          <summary>Reasoning</summary>
          <TextBlock label="Reasoning" node={reasoning} />
        </details>
      )}
    </section>
  );
}

function AttemptHead({ attempt, now, isOnly }: { attempt: AttemptNode; now: number; isOnly: boolean }) {
  const { started, settled, activity } = attempt;
  const word = settled?.status ?? "running";
  const reason = settled?.reason_code ?? null;
  const tookMs = settled?.duration_ms ?? (started === null || settled !== null ? null : now - started.at);
  return (
    <>
      <h2>
        {isOnly ? "" : `Attempt ${attempt.execution_generation} `}
        <Chip word={word} />
        {reason === null ? "" : ` ${reason.replaceAll("_", " ")}`}
      </h2>
      <p class="muted">
        {settled === null ? "" : `${statusTexts[word] ?? ""}. `}
        {started === null ? "start not seen" : `${timeText(started.at)}, ${started.cause}`}
        {tookMs === null ? ", time not reported" : `, ${durationText(tookMs)}`}
        {`, ${certain(activity.certainty, activity.last_n ?? 0)} events`}
        {activity.dropped + activity.unseen > 0 ? `, ${activity.dropped + activity.unseen} not seen` : ""}
        {`, usage ${usageText(settled?.usage ?? null)}`}
      </p>
    </>
  );
}

function Calls({ attempt: { tools, requests } }: { readonly attempt: AttemptNode }) {
  const loose = requests.list.filter(({ tool_id }) => tool_id === null);
  return (
    <>
      <h3>
        Tools <span class="muted">{certain(tools.certainty, tools.list.length)}</span>
      </h3>
      {tools.list.length === 0 ? <p class="muted">none</p> : null}
      {tools.list.map((tool) => (
        <Tool key={tool.tool_id} tool={tool} />
      ))}
      {loose.map(({ id, method, asked, outcome, choice }) => (
        <p key={id}>
          asked ({method}): {asked ?? "not shown"} → {choice ?? outcome ?? "waits"}
        </p>
      ))}
    </>
  );
}

function TextBlock({ label, node }: { readonly label: string; readonly node: AttemptNode["text"] }) {
  const isWhole = node.certainty === "exact" && !node.truncated;
  if (node.pieces.length === 0)
    return (
      <p class="muted">
        {label}: {node.certainty === "unknown" ? "not seen" : "none"}
      </p>
    );
  const note = isWhole ? "" : node.truncated ? " (cut: it was longer)" : " (at least this; some is missing)";
  return <Block label={`${label}${note}`} value={node.pieces.join(" […] ")} />;
}

function Tool({ tool }: { readonly tool: ToolNode }) {
  const word = tool.outcome ?? (tool.state === "open" ? "running" : "end not seen");
  return (
    <details class="tool" open={tool.state === "open" || tool.outcome === "error"}>
      <summary>
        <Chip word={word} kind={tool.outcome ?? "running"} /> <strong>{tool.name ?? "a tool"}</strong>{" "}
        <span class="muted">{tool.duration_ms === null ? "" : durationText(tool.duration_ms)}</span>
      </summary>
      {tool.args === undefined ? null : <Block label="Arguments" value={tool.args} />}
      {tool.result === undefined ? null : <Block label="Result" value={tool.result} />}
      {tool.error === undefined ? null : <Block label="Error" value={tool.error} />}
      {tool.requests.map(({ id, choice, outcome, reason }) => (
        <p key={id}>
          asked for approval: {choice ?? outcome ?? "waits"} {reason === null ? "" : `(${reason})`}
        </p>
      ))}
    </details>
  );
}

function certain(certainty: Certainty, count: number): string {
  if (certainty === "exact") return String(count);
  return certainty === "at_least" ? `at least ${count}` : "unknown";
}

function usageText(usage: { readonly [key: string]: number } | null): string {
  if (usage === null) return "not reported";
  return Object.entries(usage)
    .map(([key, value]) => `${key.replaceAll("_", " ")} ${value}`)
    .join(", ");
}
