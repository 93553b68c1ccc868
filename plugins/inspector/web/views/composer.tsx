import { useState } from "preact/hooks";
import type { RoomModel } from "../room-model.ts";
import type { Store } from "../store.ts";
import { handleOf } from "../words.ts";

/** A post to the room, and a stop of all that runs there. */
export function Composer({ store, room }: { readonly store: Store; readonly room: RoomModel }) {
  void room.version.value;
  const [text, setText] = useState("");
  const [said, setSaid] = useState("");
  const isBusy = room.members.some(({ state }) => state !== "idle" && state !== "failed");
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (text.trim() === "") return;
    setSaid("sending…");
    const problem = await store.post(room.id, text);
    setSaid(problem ?? "");
    if (problem === null) setText("");
  };
  const handles = room.members.map(({ member_id }) => handleOf(room, member_id)).join(", ");
  return (
    <form class="composer" onSubmit={(event) => void send(event)}>
      <label class="sr" for="post">
        Post to {room.name}
      </label>
      <input
        id="post"
        value={text}
        placeholder={`Post to ${room.name}: ${handles}, or @all`}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit">Send</button>
      {isBusy ? (
        <button
          type="button"
          class="deny"
          onClick={() => void store.stop(room.id).then((problem) => setSaid(problem ?? ""))}
        >
          Stop all
        </button>
      ) : null}
      <span role="status" class="muted">
        {said}
      </span>
    </form>
  );
}
