import type { Execution } from "./execution.ts";
import type { WaitingRequest } from "./open-request.ts";
import { limits } from "./options.ts";
import type { Session } from "./sessions.ts";

/** The questions that wait, oldest first: 1,024 of a process, and 32 calls of a session. */
export class WaitingRequests {
  readonly #waiting = new Map<string, WaitingRequest>();
  /** `srq-` ids by the approvals' own. */
  readonly #approvals = new Map<string, string>();

  add(request: WaitingRequest): void {
    this.#waiting.set(request.id, request);
    if (request.request_id !== null) this.#approvals.set(request.request_id, request.id);
  }

  /** False when it does not wait any more. */
  delete({ id, request_id }: WaitingRequest): boolean {
    if (request_id !== null) this.#approvals.delete(request_id);
    return this.#waiting.delete(id);
  }

  /** @param id the request's own, or that of the approval */
  find(id: string): WaitingRequest | undefined {
    return this.#waiting.get(this.#approvals.get(id) ?? id);
  }

  /** Those of an execution or of a session, or all of them. They may end while they are walked over. */
  of(owner?: Execution | Session): readonly WaitingRequest[] {
    const all = [...this.#waiting.values()];
    if (owner === undefined) return all;
    return all.filter(({ execution, session }) => execution === owner || session === owner);
  }

  /** The request of the session that an equal question joins. */
  equalTo(likeness: string | null, session: Session): WaitingRequest | undefined {
    if (likeness === null) return undefined;
    return this.of(session).find(({ raised }) => raised.likeness === likeness);
  }

  /** Whether one more call of the session may wait. */
  hasRoom(session: Session): boolean {
    const calls = this.of(session).reduce((sum, { waiters }) => sum + waiters.length, 0);
    return this.#waiting.size < limits.maxOpenRequests && calls < limits.maxOpenRequestsPerSession;
  }
}
