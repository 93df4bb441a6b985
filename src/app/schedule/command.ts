/** `schedule …`: code that runs at set times, without a person. */
import {
  action,
  argument,
  choice,
  duration,
  flag,
  type Group,
  type LineOf,
  option,
  repeated,
  wholeNumber,
} from '../../edges/terminal/define.ts';

const MAX_COUNT = 1_000_000_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const name = () => argument('<name>', 'name of the schedule');
const choiceArgument = argument('[what]', 'show, install or remove; by default show');
const count = (what: string) => wholeNumber(what, 1, MAX_COUNT);

const ADD_NOTES = `WHEN is five fields as in crontab(5), such as "0 7 * * 1-5", or an interval, such as "every 15m".

Give either --file, --code or --tool. With --tool, arguments are written as name=value after WHEN.

The code runs once now, in front of you. What it called then, with which arguments and how often, is shown as a whole; if you accept it, later runs may do that and nothing else. Whatever else a run tries waits for your answer: mcp-server-code-execution-mode approvals

A run prints for whoever reads its report: --report writes it to a file, and --report-to calls a tool of a server, whose arguments may contain {report}, {name}, {due} and {status}. Otherwise the next answer to a client says how the run ended.`;

const addFields = () => ({
  name: name(),
  when: argument('<when>', 'when it is due, as one word'),
  words: argument('[argument...]', 'with --tool: arguments, as name=value'),
  file: option('-f, --file <path>', 'file with Python code; a later change of it has to be accepted'),
  code: option('-c, --code <code>', 'Python code instead of a file'),
  tool: option('--tool <function>', 'saved function to run instead'),
  servers: repeated(
    '--server <name>',
    'MCP server to load; may be repeated; those that a saved function names are loaded in any case',
  ),
  timezone: option('--timezone <name>', 'time zone of WHEN, such as Europe/Berlin; by default, that of this machine'),
  missed: choice(
    '--missed <what>',
    'a time at which the machine was off: run it later, once, or skip it',
    ['run', 'skip'],
    'run',
  ),
  overlap: choice(
    '--overlap <what>',
    'a time at which a run still goes on: skip it, or wait',
    ['skip', 'wait'],
    'skip',
  ),
  timeoutMs: option(
    '--timeout <time>',
    'deadline of a run, such as 90s or 2h; by default 10m',
    duration('a time', MINUTE_MS / 60, DAY_MS),
  ),
  calls: option('--max-calls <count>', 'calls in a run', count('a number of calls')),
  tokens: option('--max-tokens <count>', 'tokens that a run prints', count('a number of tokens')),
  callsPerDay: option('--max-calls-per-day <count>', 'calls of all its runs in a day', count('a number of calls')),
  timePerDayMs: option('--max-time-per-day <time>', 'time of all its runs in a day', duration('a time', 1_000, DAY_MS)),
  tokensPerDay: option('--max-tokens-per-day <count>', 'tokens of all its runs in a day', count('a number of tokens')),
  report: option('--report <path>', 'file that each run writes'),
  reportTo: option('--report-to <tool>', 'tool that each run calls, such as slack.post_message'),
  reportArguments: option('--report-args <json>', 'its arguments as a JSON object'),
  isSure: flag('-y, --yes', 'do not ask: accept what the first run does, and install the timer'),
});

const addAction = () =>
  action('Add a schedule, and run it for the first time.', addFields(), {
    notes: ADD_NOTES,
    check({ code, file, report, reportArguments, reportTo, tool, words }, definition) {
      if ([code, file, tool].filter((one) => one !== undefined).length !== 1) {
        definition.error('error: schedule add needs exactly one of --file, --code and --tool');
      }
      if (tool === undefined && words.length > 0) {
        definition.error(`error: arguments need --tool; WHEN is one word, such as "0 7 * * 1-5"`);
      }
      if ((reportTo === undefined) !== (reportArguments === undefined)) {
        definition.error('error: --report-to and --report-args belong together');
      }
      if (report !== undefined && reportTo !== undefined) {
        definition.error('error: give either --report or --report-to');
      }
    },
  });

export const SCHEDULE = {
  command: 'schedule',
  summary: 'run code at set times, without a person',
  description: 'Run code at set times, without a person.',
  defaultAction: 'list',
  actions: () => ({
    list: action('List the schedules: when each is due, how its last run ended, and what keeps it from running.', {}),
    add: addAction(),
    show: action('Show a schedule, what it may do, and its next times.', { name: name() }),
    check: action(
      'Say whether a run can work now.',
      { name: name() },
      { notes: 'Starts no server. Exit code: 0 if it can, otherwise that of the first problem.' },
    ),
    run: action(
      'Run a schedule now.',
      { name: name(), isSure: flag('-y, --yes', 'accept what the run does, if nothing is accepted yet') },
      {
        notes:
          'If nothing is accepted yet, or its code has changed, you are asked about calls as with exec, and then whether later runs may do the same. Exit code: that of the code, as with exec; 75 if it waits for an answer.',
      },
    ),
    pause: action('Pause schedules.', { names: argument('<name...>', 'names of schedules') }),
    resume: action('Let paused schedules be due again.', { names: argument('<name...>', 'names of schedules') }),
    remove: action('Remove schedules with all their runs.', { names: argument('<name...>', 'names of schedules') }),
    log: action('Show the runs of a schedule, or what one of them printed.', {
      name: name(),
      run: argument('[run]', 'id of a run, as the list shows it, or `last`'),
    }),
    system: action(
      'Show, install or remove what looks for due schedules each minute: a timer of systemd, launchd or the Task Scheduler.',
      { what: choiceArgument },
      {
        notes:
          'With show, the files and commands, whether they are installed or not. A bridge that serves HTTP looks, too.',
      },
    ),
    tick: action(
      'Run what is due now, and what an answer lets go on. Ends when nothing runs.',
      {},
      { notes: 'A timer of the system calls it each minute: mcp-server-code-execution-mode schedule system' },
    ),
  }),
} as const satisfies Group;

export type ScheduleCommand = LineOf<typeof SCHEDULE>;
