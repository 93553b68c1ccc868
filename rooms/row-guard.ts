import { isId, reasonCodes, startCauses, turnStatuses, type TurnSettled, type TurnStarted } from "../core/index.ts";

// The schemas of the payloads by hand, at a fifth of their cost: logs are read by the hundred thousand rows. What is
// refused here, the schemas judge again and say why; so these need only be right when they say yes.

/** Whether a payload is what the schema of its kind takes. `false` may be too strict by a hair: the schema decides. */
export function isPayload(kind: string, value: unknown): value is TurnStarted | TurnSettled {
  return kind === "turn.started" ? isStarted(value) : kind === "turn.settled" && isSettled(value);
}

type Fields = { readonly [key: string]: unknown };

const causes: ReadonlySet<unknown> = new Set(startCauses);
const statuses: ReadonlySet<unknown> = new Set(turnStatuses);
const reasons: ReadonlySet<unknown> = new Set(Object.values(reasonCodes).flat());

function isStarted(value: unknown): value is TurnStarted {
  return (
    isObjectOf(value, 6) &&
    Array.isArray(value["input"]) &&
    value["input"].length > 0 &&
    value["input"].every(isInputItem) &&
    causes.has(value["cause"]) &&
    (value["origin"] === null || typeof value["origin"] === "string") &&
    isCount(value["seen_through_seq"], 0) &&
    typeof value["roster_digest"] === "string" &&
    isDiscussion(value["discussion"])
  );
}

function isInputItem(item: unknown): boolean {
  if (isObjectOf(item, 1)) return isCount(item["row_seq"], 1);
  if (isObjectOf(item, 2)) return isId(item["message_id"]) && isCount(item["row_seq"], 1);
  const isWithoutAttachments = isObjectOf(item, 3);
  if (!isWithoutAttachments && !isObjectOf(item, 4)) return false;
  const { message_id, author, text, attachments } = item;
  return (
    isId(message_id) && isAuthor(author) && typeof text === "string" && (isWithoutAttachments || areTexts(attachments))
  );
}

function isAuthor(author: unknown): boolean {
  const isWithoutName = isObjectOf(author, 2);
  if (!isWithoutName && !isObjectOf(author, 3)) return false;
  const { kind, id, display_name } = author;
  return (kind === "person" || kind === "agent") && isId(id) && (isWithoutName || typeof display_name === "string");
}

function isDiscussion(value: unknown): boolean {
  return isObjectOf(value, 3) && isId(value["message_id"]) && isCount(value["round"], 0) && isCount(value["slot"], 0);
}

function isSettled(value: unknown): value is TurnSettled {
  return (
    isObjectOf(value, 8) &&
    statuses.has(value["status"]) &&
    (value["reason_code"] === null || reasons.has(value["reason_code"])) &&
    typeof value["text"] === "string" &&
    typeof value["truncated"] === "boolean" &&
    (value["error"] === null || typeof value["error"] === "string") &&
    (value["usage"] === null || isUsage(value["usage"])) &&
    (value["activity_count"] === null || isCount(value["activity_count"], 1)) &&
    (value["duration_ms"] === null || isCount(value["duration_ms"], 0))
  );
}

function isUsage(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(([key, count]) => key !== "__proto__" && Number.isFinite(count));
}

function areTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === "string");
}

/** Whether it is a whole number, `least` or more. */
export function isCount(value: unknown, least: number): value is number {
  return Number.isSafeInteger(value) && Number(value) >= least;
}

/** Whether it is an object with so many keys. With the keys looked at afterwards, there is none that nobody knows. */
function isObjectOf(value: unknown, keyCount: number): value is Fields {
  return typeof value === "object" && value !== null && Object.keys(value).length === keyCount;
}
