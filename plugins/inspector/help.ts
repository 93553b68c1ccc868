/** What `roomtap tail --help` says below its options. */
export const tailHelp = `Lines:
  12  turn.started  THREAD  MEMBER  TASK#ATTEMPT  ...   a row of the log: its number, why the turn began and upon what
  13  turn.settled  THREAD  MEMBER  TASK#ATTEMPT  ...   a row: how the turn ended, its text, time, events, usage
    7  KIND  THREAD  MEMBER  TASK#ATTEMPT  {...}        activity: event 7 of that attempt, and its payload
  ! 3 events lost (REASON)  ...                         what did not come, and of which attempt`;

/** What `roomtap answer --help` says below its options. */
export const answerHelp = `VALUE is, for an approval, a word that it offers: once, deny, and in sessions session or always; for a question (clarify)
the answer; for secret, sudo and ask the text; for every one of them the whole result as a JSON object, such as
{"answers":{"q1":"yes"}} for several questions.`;
