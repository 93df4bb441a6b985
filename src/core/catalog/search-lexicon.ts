/**
 * The search's knowledge of English: which words are synonyms, and which name an action. It is general vocabulary of software,
 * not tuned to any server. A word may be in several groups.
 */
import { stemOf } from './search-words.ts';

const VERBS = [
  'get show retrieve fetch read view display describe see inspect',
  'list show enumerate browse display all',
  'create add new make insert register open generate provision setup',
  'delete remove drop destroy erase clear purge uninstall',
  'update edit modify change set patch alter adjust configure',
  'rename relabel',
  'assign allocate',
  'search find query look lookup discover locate seek explore',
  'send post publish share deliver notify submit',
  'upload import attach put',
  'download export save fetch',
  'save store write persist',
  'write append edit',
  'run execute invoke launch start trigger call perform',
  'start launch begin boot open',
  'stop kill terminate cancel abort end halt shutdown pause',
  'move transfer relocate',
  'copy duplicate clone fork replicate',
  'merge combine join concatenate concat',
  'split divide',
  'check validate verify test inspect diagnose',
  'convert transform translate turn change',
  'calculate compute evaluate count',
  'compare diff contrast',
  'analyze analyse examine assess evaluate',
  'summarize summary brief digest abstract',
  'generate make create produce render build draw',
  'monitor watch track observe',
  'archive hide',
  'restore recover undo revert rollback',
  'close finish complete resolve end done',
  'subscribe follow',
  'reply respond answer comment',
  'schedule plan book reserve',
  'connect attach link join',
  'disconnect detach unlink',
  'enable activate',
  'disable deactivate',
  'lock protect',
  'approve accept confirm',
  'reject decline deny',
  'scrape crawl extract',
  'extract parse',
  'sort order rank',
  'filter select where',
  'type enter fill input write',
  'press hit push key',
  'click tap press',
  'navigate go visit open browse',
  'transcribe recognize',
  'speak say voice aloud',
  'buy purchase order',
  'recommend suggest advice guidance',
] as const;

const NOUNS = [
  'issue ticket bug defect',
  'issue workitem task',
  'task todo reminder action',
  'repository repo project',
  'message msg chat dm text',
  'email mail gmail',
  'directory dir folder',
  'environment env',
  'documentation doc docs guide reference manual',
  'document doc file',
  'image picture photo img pic png jpg jpeg',
  'database db',
  'page webpage website site url',
  'web internet online',
  'user person member people account contact',
  'configuration config setting preference property parameter option',
  'information info detail metadata',
  'statistics stats statistic stat metric',
  'price quote cost rate',
  'weather forecast temperature climate',
  'direction route navigation path',
  'place location poi spot venue',
  'nearby near around',
  'restaurant cafe food dining',
  'tweet twitter post',
  'transcript caption subtitle',
  'video clip movie youtube',
  'song track music',
  'paper article publication research',
  'article post story',
  'news headline',
  'stock share ticker equity',
  'company business firm organization',
  'organization org organisation',
  'kubernetes k8s aks eks gke',
  'log logs',
  'schema structure',
  'table sheet spreadsheet',
  'spreadsheet excel xlsx xls csv workbook',
  'word docx',
  'presentation powerpoint pptx ppt slide',
  'event appointment meeting calendar',
  'note memo',
  'comment reply remark',
  'label tag',
  'branch ref',
  'commit revision change',
  'version release',
  'password secret credential',
  'authentication auth login',
  'javascript js',
  'typescript ts',
  'python py',
  'markdown md',
  'identifier id',
  'application app',
  'parameter param argument arg',
  'function func',
  'library lib package',
  'package module dependency',
  'history historical past',
  'latest recent newest current',
  'trending popular hot top',
  'currency exchange forex',
  'cryptocurrency crypto coin bitcoin',
  'hotel accommodation lodging',
  'flight airline plane',
  'address geocode location',
  'coordinate latitude longitude',
  'speech voice audio',
  'tts speech',
  'stt transcription',
  'chart graph plot diagram',
  'kv key value',
  'administrator admin',
  'group team',
  'role permission',
  'notification alert',
  'feed timeline',
  'record row entry item',
  'column field',
  'job run',
  'status state health',
  'error failure exception problem',
  'model llm ai',
  'prompt completion',
  'invoice bill',
  'customer client',
  'product item',
] as const;

/** Kinds of actions, each with the verbs that name it. */
const ACTIONS = {
  list: 'list enumerate browse all',
  get: 'get show retrieve fetch read view display describe detail see inspect',
  search: 'search find query lookup discover locate seek',
  create: 'create add new make insert register generate provision',
  update: 'update edit modify change set patch alter adjust configure rename',
  delete: 'delete remove drop destroy erase clear purge uninstall',
  send: 'send post publish share deliver notify submit',
  run: 'run execute invoke launch start trigger call',
  stop: 'stop kill terminate cancel abort end halt pause',
  upload: 'upload import attach',
  download: 'download export',
  move: 'move transfer',
  copy: 'copy duplicate clone fork',
  merge: 'merge combine join',
  convert: 'convert transform translate',
} as const;

export type Action = keyof typeof ACTIONS;

/** Actions that only read: if a query asks for one, a tool for another may serve as well. */
const READING: ReadonlySet<Action> = new Set(['list', 'get', 'search', 'download']);
/** Further pairs in which one may serve for the other: many tools are named `set` or `write` and do both. */
const NEAR_PAIRS: readonly (readonly [Action, Action])[] = [
  ['create', 'update'],
  ['create', 'send'],
  ['create', 'upload'],
  ['create', 'run'],
];
const nearActions = actionsByNearest();

const synonyms = groupsByStem();
/** As written: `posts` and `comments` are nouns. */
const verbs: ReadonlySet<string> = new Set(VERBS.flatMap((group) => group.split(' ')));
const actions = new Map(
  (Object.keys(ACTIONS) as Action[]).flatMap((action) =>
    ACTIONS[action].split(' ').map((verb) => [stemOf(verb), action] as const),
  ),
);

/** The synonyms of `stem`, without `stem` itself. */
export function synonymsOf(stem: string): ReadonlySet<string> {
  return synonyms.get(stem) ?? new Set();
}

/** Whether the word may be a verb in the imperative. */
export function isVerb(word: string): boolean {
  return verbs.has(word);
}

/** The kind of action that a verb names. */
export function actionOf(stem: string): Action | undefined {
  return actions.get(stem);
}

/** 1 if the tool does what the query asks for, 0 if it may serve or its action is unknown, -1 if it does something else. */
export function actionFit(wanted: Action, offered: ReadonlySet<Action>): -1 | 0 | 1 {
  if (offered.size === 0) {
    return 0;
  }
  if (offered.has(wanted)) {
    return 1;
  }
  const near = nearActions.get(wanted);
  for (const action of offered) {
    if (near?.has(action) === true) {
      return 0;
    }
  }
  return -1;
}

function actionsByNearest(): Map<Action, Set<Action>> {
  const near = new Map<Action, Set<Action>>([...READING].map((action) => [action, new Set(READING)]));
  const add = (action: Action, other: Action): void => {
    near.set(action, (near.get(action) ?? new Set()).add(other));
  };
  for (const [left, right] of NEAR_PAIRS) {
    add(left, right);
    add(right, left);
  }
  return near;
}

function groupsByStem(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const group of [...VERBS, ...NOUNS]) {
    const stems = group.split(' ').map(stemOf);
    for (const stem of stems) {
      const others = found.get(stem) ?? new Set();
      stems.filter((other) => other !== stem).forEach((other) => others.add(other));
      found.set(stem, others);
    }
  }
  return found;
}
