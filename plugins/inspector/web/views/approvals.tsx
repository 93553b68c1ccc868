import type { Store } from "../store.ts";
import { openRequests } from "../waiting.ts";
import { Empty } from "./parts.tsx";
import { RequestCard } from "./request-card.tsx";

/** What waits for a person, of all rooms, and the buttons that answer it. */
export function Approvals({ store }: { readonly store: Store }) {
  const waiting = openRequests(store);
  return (
    <>
      <h1>Approvals</h1>
      {waiting.length === 0 ? (
        <Empty title="Nothing waits for a person">
          <p>When an agent asks before it does something, it stands here until it is answered.</p>
        </Empty>
      ) : (
        <ul class="cards">
          {waiting.map(({ room, request }) => (
            <RequestCard key={request.id} store={store} room={room} request={request} />
          ))}
        </ul>
      )}
    </>
  );
}
