/** Tasks on a knowledge graph. */
import { createRandom } from '../../../test/soak/random.ts';
import type { Tree } from '../workspace.ts';
import { type EvalTask, expectAnswer, expectList } from './task.ts';

const TEAMS = ['atlas', 'beacon', 'comet'];
const PEOPLE = [
  'amara',
  'bela',
  'carlos',
  'dina',
  'eero',
  'fatou',
  'gita',
  'hugo',
  'iris',
  'juno',
  'kofi',
  'lena',
  'marek',
  'nadia',
];

interface Person {
  readonly name: string;
  readonly role: string;
  readonly team: string;
  readonly boss: string | undefined;
}

function people(): Person[] {
  const random = createRandom(71);
  return PEOPLE.map((name, index) => ({
    name,
    role: random.pick(['engineer', 'designer', 'analyst', 'manager']),
    team: random.pick(TEAMS),
    boss: index === 0 ? undefined : PEOPLE[random.below(index)],
  }));
}

function notes(): Tree {
  return Object.fromEntries(
    people().map(({ name, role, team, boss }) => [
      `${name}.md`,
      `# ${name}\n\nRole: ${role}\nTeam: ${team}\n${boss === undefined ? '' : `Reports to: ${boss}\n`}`,
    ]),
  );
}

const STORE_PEOPLE: EvalTask = {
  id: 'store-people',
  title: `store ${PEOPLE.length} notes in a knowledge graph`,
  build: (workspace) => workspace.writeTree('people', notes()),
  prompt: () =>
    'Store the people described in people/*.md in the knowledge graph: for each an entity with the name as in the heading, the type "person" and two observations, "role: ROLE" and "team: TEAM"; and for each line "Reports to:" a relation of the type "reports_to" from the person to the boss.',
  check({ graph }) {
    const stored = graph().flatMap((record) => {
      if (record.type === 'entity') {
        return record.entityType === 'person' ? [`${record.name}: ${record.observations.toSorted().join(', ')}`] : [];
      }
      return record.relationType === 'reports_to' ? [`${record.from} reports to ${record.to}`] : [];
    });
    const expected = people().flatMap(({ name, role, team, boss }) => [
      `${name}: role: ${role}, team: ${team}`,
      ...(boss === undefined ? [] : [`${name} reports to ${boss}`]),
    ]);
    return expectAnswer(stored.toSorted().join('; '), expected.toSorted().join('; '));
  },
};

const SYSTEMS = 70;
const FAILED = 'system-03';
const systemName = (index: number): string => `system-${String(index).padStart(2, '0')}`;

/** Every system uses one or two with a lower number. */
function uses(): (readonly [string, string])[] {
  const random = createRandom(73);
  return Array.from({ length: SYSTEMS - 1 }, (_, index) => index + 1).flatMap((index) => {
    const first = random.below(index);
    const second = random.below(index);
    const used = index % 3 === 0 && second !== first ? [first, second] : [first];
    return used.map((other) => [systemName(index), systemName(other)] as const);
  });
}

function affected(): string[] {
  const found = new Set([FAILED]);
  for (const [user, used] of uses()) {
    if (found.has(used)) {
      found.add(user);
    }
  }
  found.delete(FAILED);
  return [...found];
}

const AFFECTED_SYSTEMS: EvalTask = {
  id: 'affected-systems',
  title: `follow relations in a graph of ${SYSTEMS} entities`,
  build(workspace) {
    const random = createRandom(79);
    workspace.addToGraph([
      ...Array.from({ length: SYSTEMS }, (_, index) => ({
        type: 'entity' as const,
        name: systemName(index),
        entityType: 'system',
        observations: [`rack ${random.below(9)}`, `owner: team ${random.pick(TEAMS)}`],
      })),
      ...uses().map(([from, to]) => ({ type: 'relation' as const, from, to, relationType: 'uses' })),
    ]);
  },
  prompt: () =>
    `In the knowledge graph, ${FAILED} has failed. Which systems are affected because they use it, directly or through others? State their names, separated by commas, without ${FAILED} itself.`,
  check: (_workspace, answer) => expectList(answer, affected()),
};

export const GRAPH_TASKS: readonly EvalTask[] = [STORE_PEOPLE, AFFECTED_SYSTEMS];
