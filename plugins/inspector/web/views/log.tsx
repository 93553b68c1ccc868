import { useState } from "preact/hooks";
import type { LogRow } from "../../../client/index.ts";
import { useRoom } from "../hooks.ts";
import { fragmentOf } from "../route.ts";
import type { RoomModel } from "../room-model.ts";
import type { Store } from "../store.ts";
import { handleOf, timeText } from "../words.ts";
import { Chip, Empty, Heads } from "./parts.tsx";

/** The rows of a room's log, newest first, and whether they are as they were written. */
export function LogView({ store, roomId }: { readonly store: Store; readonly roomId: string }) {
  const room = useRoom(store, roomId, "overview");
  if (room === undefined) {
    return (
      <Empty title={`No room ${roomId}`}>
        <a href={fragmentOf({ view: "rooms" })}>All rooms</a>
      </Empty>
    );
  }
  const { rows } = room;
  return (
    <>
      <h1>
        Log of {room.name}{" "}
        <a class="aside" href={fragmentOf({ view: "room", roomId })}>
          Room
        </a>
      </h1>
      <Verify store={store} roomId={roomId} />
      {rows.length === 0 ? (
        <Empty title="The log is empty">
          <p>Each turn leaves two rows: its start and its end.</p>
        </Empty>
      ) : (
        <div class="scroll">
          <table>
            <Heads names={["Row", "Time", "Kind", "Member", "Says", "Hash"]} />
            <tbody>
              {rows.toReversed().map((row) => (
                <Row key={row.seq} room={room} row={row} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {(rows[0]?.seq ?? 1) > 1 ? (
        <button type="button" onClick={() => void store.readOlder(room)}>
          Show older rows
        </button>
      ) : null}
    </>
  );
}

function Verify({ store, roomId }: { readonly store: Store; readonly roomId: string }) {
  const [verdict, setVerdict] = useState<{ readonly isRight: boolean; readonly text: string } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const verify = async (): Promise<void> => {
    setBusy(true);
    setVerdict(await store.verify(roomId));
    setBusy(false);
  };
  return (
    <p>
      <button type="button" disabled={isBusy} onClick={() => void verify()}>
        {isBusy ? "Verifying…" : "Verify every row"}
      </button>{" "}
      <span role="status" class={verdict === null ? "" : verdict.isRight ? "right" : "wrong"}>
        {verdict === null
          ? "Hashes, order, and that the rows fold to a state."
          : `${verdict.isRight ? "✓" : "✗"} ${verdict.text}`}
      </span>
    </p>
  );
}

function Row({ room, row }: { readonly room: RoomModel; readonly row: LogRow }) {
  return (
    <tr>
      <td>{row.seq}</td>
      <td>{timeText(row.created_at)}</td>
      <td>{row.kind}</td>
      <td>
        <a href={fragmentOf({ view: "turn", roomId: room.id, turnId: row.turn_id })}>{handleOf(room, row.member_id)}</a>
        {row.execution_generation > 1 ? ` (attempt ${row.execution_generation})` : ""}
      </td>
      <td class="says">{row.kind === "turn.started" ? saysStarted(row) : <Settled row={row} />}</td>
      <td>
        <code title={row.hash}>{row.hash.slice(0, 8)}</code>
      </td>
    </tr>
  );
}

function saysStarted({ payload }: LogRow & { kind: "turn.started" }): string {
  const texts = payload.input.map((item) => ("text" in item ? item.text : `as row ${item.row_seq} says`));
  return `${payload.cause}: ${texts.join(" / ").slice(0, 200)}`;
}

function Settled({ row }: { readonly row: LogRow & { kind: "turn.settled" } }) {
  const { status, reason_code, text, error } = row.payload;
  return (
    <>
      <Chip word={status} /> {reason_code === null ? "" : reason_code.replaceAll("_", " ")}{" "}
      {(error ?? text).slice(0, 200)}
    </>
  );
}
