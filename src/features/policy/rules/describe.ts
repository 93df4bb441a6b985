/** The content of a policy, for people. */
import { type CompiledRule, compileRules } from './rules.ts';
import { type Limit, type PackageRule, type ProfileRule, placed, type ReadPolicy } from './schema.ts';
import { type KnownServer, type Unmatched, unmatchedIn } from './unmatched.ts';

/** One policy; also the JSON output of `policy show`. */
export interface ShownPolicy {
  /** `FILE` or `FILE (mcpServers.NAME.policy)`. */
  readonly place: string;
  /** Why the policy cannot be used; null if it can. */
  readonly problem: string | null;
  /** `all servers`, or the name of one server in quotes. */
  readonly about: string;
  readonly rules: readonly { readonly place: string; readonly effect: string; readonly text: string }[];
  readonly limits: readonly { readonly place: string; readonly text: string }[];
  readonly packages: readonly { readonly place: string; readonly effect: string; readonly text: string }[];
  /** The subsets of servers and tools that it names. */
  readonly profiles: readonly { readonly place: string; readonly text: string }[];
  /** Patterns that match nothing that is known. */
  readonly unmatched: readonly Unmatched[];
}

/** @param servers the servers that it applies to. */
export function describePolicy(read: ReadPolicy, about: string, servers: readonly KnownServer[]): ShownPolicy {
  const place = placed(read.place, undefined);
  if ('problem' in read) {
    return { place, problem: read.problem, about, rules: [], limits: [], packages: [], profiles: [], unmatched: [] };
  }
  const { policy } = read;
  const rules = compileRules(policy, read.place).map((rule) => {
    // The heading already names the file.
    return { place: rule.place.slice(0, -` of ${place}`.length), effect: rule.effect, text: textOf(rule) };
  });
  return {
    place,
    problem: null,
    about,
    rules,
    limits: policy.limits.map(describeLimit),
    packages: (policy.packages ?? []).map(describePackageRule),
    profiles: Object.entries(policy.profiles ?? {}).map(describeProfile),
    unmatched: unmatchedIn(read, servers),
  };
}

function textOf({ server, tool, annotations, conditions, reason }: CompiledRule): string {
  const parts = [
    ...selectorsOf({ server, tool, annotations }),
    ...conditions.map(([key, condition]) => `${key} ${JSON.stringify(condition)}`),
  ];
  const text = parts.length === 0 ? 'every call' : parts.join(', ');
  return reason === undefined ? text : `${text} (${reason})`;
}

function describeProfile([name, { servers, tools }]: [string, ProfileRule]) {
  const text = `servers ${servers.join(', ')}${tools === undefined ? '' : `; tools ${tools.join(', ')}`}`;
  return { place: `profiles.${name}`, text };
}

function describeLimit({ server, tool, annotations, ...bounds }: Limit, index: number) {
  const about = selectorsOf({ server, tool, annotations });
  const said = Object.entries(bounds).map(([name, value]) => {
    return name === 'deadline' ? `deadline ${Number(value) / 1_000} s` : `${name} ${value}`;
  });
  const text = `${about.length === 0 ? 'all calls together' : about.join(', ')}: ${said.join(', ')}`;
  return { place: `limits[${index}]`, text };
}

function describePackageRule({ effect, package: names, version, reason }: PackageRule, index: number) {
  const text = `package ${names.join(' or ')}${version === undefined ? '' : `, version ${version}`}`;
  return { place: `packages[${index}]`, effect, text: reason === undefined ? text : `${text} (${reason})` };
}

function selectorsOf({ server, tool, annotations }: Pick<Limit, 'server' | 'tool' | 'annotations'>): string[] {
  return [
    ...(server === undefined ? [] : [`server ${server.join(' or ')}`]),
    ...(tool === undefined ? [] : [`tool ${tool.join(' or ')}`]),
    ...Object.entries(annotations ?? {}).map(([hint, value]) => `${hint} ${value}`),
  ];
}
