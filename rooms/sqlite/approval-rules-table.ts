import type { ApprovalRule } from "../../core/index.ts";
import type { SqliteDatabase } from "./database.ts";

/** What one slice of a read takes at most. UTF-16 units. */
const sliceUnits = 65_536;

interface NumberedRule extends ApprovalRule {
  readonly number: number;
}

/** Statements over the rules that approvals leave behind. Each is synchronous; the caller holds the transaction. */
export class ApprovalRulesTable {
  readonly #after;
  readonly #put;
  readonly #trim;

  constructor(database: SqliteDatabase) {
    this.#after = database.prepare<[string, number], NumberedRule>(
      "SELECT number, agent_id, tool_name, command FROM approval_rules WHERE agent_id = ? AND number > ? ORDER BY number",
    );
    this.#put = database.prepare<[ApprovalRule]>(
      "INSERT OR REPLACE INTO approval_rules (number, agent_id, tool_name, command)" +
        " VALUES ((SELECT ifnull(max(number), 0) + 1 FROM approval_rules), @agent_id, @tool_name, @command)",
    );
    this.#trim = database.prepare<[{ readonly agent_id: string; readonly kept: number }]>(
      "DELETE FROM approval_rules WHERE number IN (SELECT number FROM approval_rules WHERE agent_id = @agent_id" +
        " ORDER BY number DESC LIMIT -1 OFFSET @kept)",
    );
  }

  /** Rules of the agent behind a number, oldest first, as many as one slice holds; none: that was all. */
  slice(agentId: string, after: number): NumberedRule[] {
    const rules: NumberedRule[] = [];
    let units = 0;
    for (const rule of this.#after.iterate(agentId, after)) {
      rules.push(rule);
      units += rule.command.length;
      if (units >= sliceUnits) break;
    }
    return rules;
  }

  /** As the agent's newest; the last `kept` of it stay. */
  put(rule: ApprovalRule, kept: number): void {
    this.#put.run({ agent_id: rule.agent_id, tool_name: rule.tool_name, command: rule.command });
    this.#trim.run({ agent_id: rule.agent_id, kept });
  }
}
