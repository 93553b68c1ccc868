import { useState } from "preact/hooks";
import type { RequestEntry } from "../../../../core/index.ts";
import { durationText } from "../../../duration-text.ts";
import { useNow } from "../hooks.ts";
import type { RoomModel } from "../room-model.ts";
import { fragmentOf } from "../route.ts";
import type { Store } from "../store.ts";
import { handleOf } from "../words.ts";
import { Block } from "./parts.tsx";

/** One request, with what is asked and what may be answered. */
export function RequestCard(props: {
  readonly store: Store;
  readonly room: RoomModel;
  readonly request: RequestEntry;
}) {
  const { store, room, request } = props;
  const { id, method, coordinates, command, description, question, choices = [], expires_at } = request;
  const [answered, setAnswered] = useState<string | null>(null);
  const now = useNow();
  const who = coordinates === null ? "somebody" : handleOf(room, coordinates.member_id);
  const answer = async (choice: string): Promise<void> => setAnswered((await store.answer(id, choice)) ?? choice);
  const isHidden = command === undefined && description === undefined && question === undefined;
  return (
    <li class="card request">
      <h2>
        {who} asks in <a href={fragmentOf({ view: "room", roomId: room.id })}>{room.name}</a>
        <span class="muted"> {method}</span>
      </h2>
      {command === undefined ? null : <Block label="Command" value={command} />}
      {description === undefined ? null : <p class="described">{description}</p>}
      {question === undefined ? null : <p class="described">{question}</p>}
      {isHidden ? (
        <p class="muted">What is asked is not granted to this sign-in: it needs the scope approvals.</p>
      ) : null}
      {method === "approval" && !isHidden ? (
        <div class="buttons" role="group" aria-label={`Answer ${who}`}>
          {[...choices].toSorted(denyLast).map((choice) => (
            <button
              key={choice}
              type="button"
              class={choice === "deny" ? "deny" : "allow"}
              disabled={answered !== null}
              onClick={() => void answer(choice)}
            >
              {choice === "once" ? "Allow once" : choice === "deny" ? "Deny" : `Allow: ${choice}`}
            </button>
          ))}
        </div>
      ) : null}
      {method === "approval" ? null : (
        <p class="muted">
          Answer it with <code>roomtap answer {id} …</code>
        </p>
      )}
      <p class="muted" role="status">
        {answered === null ? "" : `${answered} · `}
        <code>{id}</code>
        {expires_at === null ? "" : ` · expires in ${durationText(expires_at - now)}`}
        {coordinates === null ? null : (
          <>
            {" · "}
            <a href={fragmentOf({ view: "turn", roomId: room.id, turnId: coordinates.turn_id })}>its turn</a>
          </>
        )}
      </p>
    </li>
  );
}

function denyLast(a: string, b: string): number {
  return Number(a === "deny") - Number(b === "deny");
}
