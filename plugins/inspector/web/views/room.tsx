import { useState } from "preact/hooks";
import { useNow, useRoom } from "../hooks.ts";
import { fragmentOf } from "../route.ts";
import type { RoomModel } from "../room-model.ts";
import type { Store } from "../store.ts";
import type { AttemptBar } from "../timeline-model.ts";
import { countText, handleOf, memberText, statusTexts, timeText } from "../words.ts";
import { attemptKey } from "../../view/attempt-key.ts";
import { durationText } from "../../../duration-text.ts";
import { Chip, Empty, Heads, Problem } from "./parts.tsx";
import { Composer } from "./composer.tsx";
import { RequestCard } from "./request-card.tsx";
import { TimelineView } from "./timeline.tsx";

/** One room: who does what now, the live timeline, and its turns as a table. */
export function RoomView({ store, roomId }: { readonly store: Store; readonly roomId: string }) {
  const room = useRoom(store, roomId, "details");
  const now = useNow();
  if (room === undefined) return <Unknown store={store} roomId={roomId} />;
  return (
    <>
      <h1>
        {room.name}{" "}
        <a class="aside" href={fragmentOf({ view: "log", roomId })}>
          Log
        </a>
      </h1>
      {room.problem === null ? null : <Problem>{room.problem}</Problem>}
      <ul class="members now" aria-label="Members">
        {room.members.map((member) => (
          <li key={member.member_id}>
            <Chip word={member.state} /> <strong>{handleOf(room, member.member_id)}</strong>{" "}
            <span class="muted">{memberText(member, now)}</span>
          </li>
        ))}
      </ul>
      {room.requests.length === 0 ? null : (
        <ul class="cards" aria-label="Waiting for a person">
          {room.requests.map((request) => (
            <RequestCard key={request.id} store={store} room={room} request={request} />
          ))}
        </ul>
      )}
      <Composer store={store} room={room} />
      <TimelineView room={room} />
      <Turns store={store} room={room} now={now} />
    </>
  );
}

function Unknown({ store, roomId }: { readonly store: Store; readonly roomId: string }) {
  return (
    <Empty title={store.isListed.value ? `No room ${roomId}` : "Loading…"}>
      <p>{store.problem.value ?? (store.isListed.value ? "It is not there, or not there for this sign-in." : "")}</p>
      <p>
        <a href={fragmentOf({ view: "rooms" })}>All rooms</a>
      </p>
    </Empty>
  );
}

const pageSize = 50;

function Turns({ store, room, now }: { readonly store: Store; readonly room: RoomModel; readonly now: number }) {
  void room.version.value;
  const [count, setCount] = useState(pageSize);
  const bars = room.timeline.bars.toReversed();
  const hasOlder = (room.rows[0]?.seq ?? 1) > 1;
  const more = async (): Promise<void> => {
    if (bars.length <= count + pageSize && hasOlder) await store.readOlder(room);
    setCount(count + pageSize);
  };
  if (bars.length === 0) {
    return (
      <Empty title="No turns yet">
        <p>Post something, and its members answer.</p>
      </Empty>
    );
  }
  return (
    <section>
      <h2>Turns</h2>
      <div class="scroll">
        <table>
          <Heads names={["Started", "Member", "State", "Took", "Tools", "Lost"]} />
          <tbody>
            {bars.slice(0, count).map((bar) => (
              <TurnRow key={attemptKey(bar.coordinates)} {...{ room, bar, now }} />
            ))}
          </tbody>
        </table>
      </div>
      {bars.length > count || hasOlder ? (
        <button type="button" onClick={() => void more()}>
          Show older turns
        </button>
      ) : null}
    </section>
  );
}

function TurnRow({ room, bar, now }: { readonly room: RoomModel; readonly bar: AttemptBar; readonly now: number }) {
  void room.version.value;
  const { coordinates, status, reason, tools, calls, from, to, lost, isWhole } = bar;
  const { member_id, turn_id, execution_generation } = coordinates;
  const running = tools.find((tool) => tool.to === null);
  const word = status ?? "running";
  return (
    <tr>
      <td>
        <a href={fragmentOf({ view: "turn", roomId: room.id, turnId: turn_id })}>
          {isWhole ? "" : "before "}
          {timeText(from)}
        </a>
      </td>
      <td>
        {handleOf(room, member_id)}
        {execution_generation > 1 ? ` (attempt ${execution_generation})` : ""}
      </td>
      <td>
        <Chip word={word} /> {reason === null ? "" : reason.replaceAll("_", " ")}
        <span class="sr">{statusTexts[word] ?? ""}</span>
      </td>
      <td>{durationText((to ?? now) - from)}</td>
      <td>
        {isWhole && lost === 0 ? "" : "at least "}
        {countText(calls)}
        {running === undefined ? "" : `, now ${running.name}`}
      </td>
      <td>{lost === 0 ? "" : lost}</td>
    </tr>
  );
}
