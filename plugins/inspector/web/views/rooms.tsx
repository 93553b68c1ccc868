import { pageClock } from "../clock.ts";
import { useNow } from "../hooks.ts";
import { fragmentOf } from "../route.ts";
import type { RoomModel } from "../room-model.ts";
import type { Store } from "../store.ts";
import { countText, handleOf, memberText } from "../words.ts";
import { Chip, Empty, Problem } from "./parts.tsx";

/** All rooms: what their members do, how much moves, what waits for a person. */
export function Rooms({ store }: { readonly store: Store }) {
  const now = useNow();
  const rooms = store.rooms.value;
  return (
    <>
      <h1>Rooms</h1>
      {store.problem.value === null ? null : (
        <Problem>
          The rooms cannot be listed: {store.problem.value}{" "}
          <button type="button" onClick={() => void store.listRooms()}>
            Try again
          </button>
        </Problem>
      )}
      {rooms.length === 0 && store.isListed.value && store.problem.value === null ? (
        <Empty title="No rooms yet">
          <p>
            A config names rooms: <code>roomtap up --config rooms.json --port 4173</code>. Clients make some with{" "}
            <code>groups.create</code>.
          </p>
        </Empty>
      ) : (
        <ul class="cards">
          {rooms.map((room) => (
            <RoomCard key={room.id} room={room} now={now} />
          ))}
        </ul>
      )}
    </>
  );
}

function RoomCard({ room, now }: { readonly room: RoomModel; readonly now: number }) {
  void room.version.value;
  const { requests, members, rate, problem, lost, timeline } = room;
  return (
    <li class="card">
      <h2>
        <a href={fragmentOf({ view: "room", roomId: room.id })}>{room.name}</a>
      </h2>
      {problem === null ? null : <Problem>{problem}</Problem>}
      <p class="figures">
        <span>{rate.perSecond(pageClock.monotonic()).toFixed(1)} events/s</span>
        <span>
          {lost > 0 ? "at least " : ""}
          {countText(timeline.events + lost)} events seen
        </span>
        {requests.length > 0 ? (
          <a class="badge" href={fragmentOf({ view: "approvals" })}>
            {requests.length} waiting
          </a>
        ) : null}
        {lost > 0 ? <span class="lost">{countText(lost)} lost</span> : null}
      </p>
      <ul class="members">
        {members.map((member) => (
          <li key={member.member_id}>
            <Chip word={member.state} /> <strong>{handleOf(room, member.member_id)}</strong>{" "}
            <span class="muted">{memberText(member, now)}</span>
          </li>
        ))}
      </ul>
    </li>
  );
}
