/**
 * Who decides whether packages are fetched: the policy, then the setting, then the person. A name can carry data out, so a name
 * that neither allows reaches no index before the person has seen it. What was chosen is judged again before it is fetched,
 * because rules name versions too, and because packages need others.
 */
import { CappedMap } from '../../core/base/capped-map.ts';
import { BridgeError, toBridgeError } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import type { Asker } from '../../core/session/asker.ts';
import type { CallContext } from '../../core/session/dispatch.ts';
import { COMMON_PACKAGES } from './common.ts';
import { type Allower, judgeChosen, judgeLookUp, NOT_COMMON, type PackagePolicy, type PackagesMode } from './judge.ts';
import { normalizeName, type Requirement } from './requirement.ts';

/** Of a suggestion: short names have many neighbours. Chosen. */
const NEAR_SCORE = 0.7;
/** Sessions whose questions are counted; clients choose their names. Chosen. */
const MAX_SESSIONS = 10_000;
/** Questions about packages in one session, whatever was answered. Chosen: code cannot tire the person until they agree. */
export const MAX_QUESTIONS_PER_SESSION = 20;
/** Who allowed an installation: the list of common packages, the setting `any`, a rule of the policy, or the user. */
export type AllowedBy = Allower | 'user';

/** A package that a builder chose. */
export interface ChosenPackage {
  readonly name: string;
  readonly version: string;
  /** Names of the chosen packages that need it. */
  readonly needed_by: readonly string[];
}

export interface ConsentOptions {
  readonly mode: PackagesMode;
  /** The current policy; undefined if there is none. */
  readonly policy: () => PackagePolicy | undefined;
}

type AskingCall = Pick<CallContext, 'asker' | 'job' | 'sandbox' | 'session' | 'signal'>;

/** Something to ask about, and why. */
interface Doubt {
  readonly name: string;
  /** As the form shows it. */
  readonly text: string;
  readonly why: string;
}

export class Consent {
  readonly #options: ConsentOptions;
  /** What the user agreed to, as texts, for as long as the sandbox lives. */
  readonly #agreed = new WeakMap<object, Set<string>>();
  /** Refusals of a cell, which asks about the same only once. */
  readonly #refused = new WeakMap<Asker, Map<string, BridgeError>>();
  /** By name, so that `runtime.reset()` does not start a new count. */
  readonly #questions = new CappedMap<string, number>(MAX_SESSIONS);

  constructor(options: ConsentOptions) {
    this.#options = options;
  }

  /**
   * Decides whether requirements may be looked up; resolves with who allows it. Rejects with `CALL_REFUSED` if packages are off,
   * `POLICY_DENIED`, `APPROVAL_UNAVAILABLE` if no one can be asked, `APPROVAL_DENIED`, and the errors of `Asker.ask`.
   */
  async toLookUp(requirements: readonly Requirement[], call: AskingCall): Promise<AllowedBy> {
    refuseIfOff(this.#options.mode, requirements);
    const judged = requirements.map((requirement) => this.#judge(requirement, call));
    const doubts = judged.filter((one): one is Doubt => typeof one !== 'string');
    const found = judged.filter((one) => typeof one === 'string');
    if (doubts.length === 0) {
      return STRONGEST.find((by) => found.includes(by)) ?? 'setting';
    }
    await this.#ask(
      doubts,
      requirements.map(({ text }) => text),
      call,
    );
    return 'user';
  }

  /**
   * Decides whether what a builder chose may be fetched; resolves with whether the user was asked. A dependency that no rule
   * names follows from what was allowed. Rejects as `toLookUp` does.
   */
  async toFetch(chosen: readonly ChosenPackage[], wanted: readonly Requirement[], call: AskingCall): Promise<boolean> {
    this.refuseDenied(chosen);
    const doubts = chosen.flatMap((one) => this.#doubtAbout(one, wanted, call));
    if (doubts.length > 0) {
      await this.#ask(
        doubts,
        doubts.map(({ text }) => text),
        call,
      );
    }
    return doubts.length > 0;
  }

  /** Throws `POLICY_DENIED` for the first package that the policy denies. */
  refuseDenied(chosen: readonly (Pick<ChosenPackage, 'name' | 'version'> & Partial<ChosenPackage>)[]): void {
    for (const { name, needed_by: neededBy = [], version } of chosen) {
      const decision = this.#options.policy()?.ofPackage(normalizeName(name), version);
      if (decision?.effect === 'deny') {
        const needs = neededBy.length === 0 ? '' : `, which ${neededBy.join(' and ')} needs,`;
        throw denied(`nothing was installed: ${name} ${version}${needs} may not be: ${decision.reason}`);
      }
    }
  }

  #judge(requirement: Requirement, call: AskingCall): AllowedBy | Doubt {
    const { mode, policy } = this.#options;
    const { name, text } = requirement;
    const judged = judgeLookUp(requirement, { mode, policy: policy() });
    if (judged.effect === 'deny') {
      throw denied(`${text} was not installed: ${judged.reason}`);
    }
    if (this.#hasAgreed(text, call)) {
      return 'user';
    }
    return judged.effect === 'allow' ? judged.by : { name, text, why: judged.reason };
  }

  #doubtAbout(
    { name, needed_by: by, version }: ChosenPackage,
    wanted: readonly Requirement[],
    call: AskingCall,
  ): Doubt[] {
    const { mode, policy } = this.#options;
    const normal = normalizeName(name);
    const isWanted = wanted.some((one) => one.name === normal);
    const decision = judgeChosen(normal, version, isWanted, { mode, policy: policy() });
    // Whoever agreed to a requirement agreed to the version that is chosen for it.
    if (decision === undefined || decision.effect === 'allow' || this.#hasAgreed(normal, call)) {
      return [];
    }
    const needs = by.length === 0 ? '' : `  (needed by ${by.join(', ')})`;
    return [{ name: normal, text: `${normal}==${version}${needs}`, why: decision.reason }];
  }

  #hasAgreed(text: string, call: AskingCall): boolean {
    return this.#agreed.get(call.sandbox ?? call)?.has(text) === true;
  }

  async #ask(doubts: readonly Doubt[], shown: readonly string[], call: AskingCall): Promise<void> {
    const { asker, session, signal } = call;
    const names = doubts.map(({ name }) => name);
    const what = `${shown.join(', ')} was not installed: ${whyOf(doubts)}`;
    const hint = howToAllow(names);
    if (asker === undefined) {
      const near = doubts.some(({ why }) => why === NOT_COMMON) ? await nearNames(names) : '';
      const who = call.job === undefined ? 'this client cannot ask the user' : 'a background job cannot ask the user';
      throw new BridgeError('APPROVAL_UNAVAILABLE', `${what}, and ${who}`, { hint: `${hint}${near}` });
    }
    const refused = this.#refused.get(asker) ?? new Map<string, BridgeError>();
    this.#refused.set(asker, refused);
    const known = refused.get(shown.join());
    if (known !== undefined) {
      throw known;
    }
    const asked = (this.#questions.get(session) ?? 0) + 1;
    if (asked > MAX_QUESTIONS_PER_SESSION) {
      const clause = `the session has asked the user about packages ${MAX_QUESTIONS_PER_SESSION} times, which is the limit`;
      throw new BridgeError('APPROVAL_UNAVAILABLE', `${what}, and ${clause}`, { hint });
    }
    this.#questions.set(session, asked);
    const reply = await asker.ask(formFor(session, shown, whyOf(doubts)), signal).catch((error: unknown) => {
      const { code, message } = toBridgeError(error);
      throw new BridgeError(code, `${what}: ${message}`, { hint, cause: error });
    });
    if (reply.action !== 'accept' || reply.content?.['install'] !== true) {
      const message = `${names.join(', ')} was not installed: the user was asked and did not allow it`;
      const error = new BridgeError('APPROVAL_DENIED', message, {
        hint: 'Continue without it, or ask the user what to do instead.',
      });
      refused.set(shown.join(), error);
      throw error;
    }
    const agreed = this.#agreed.get(call.sandbox ?? call) ?? new Set<string>();
    this.#agreed.set(call.sandbox ?? call, agreed);
    [...shown, ...names].forEach((text) => agreed.add(text));
  }
}

const STRONGEST: readonly AllowedBy[] = ['user', 'policy', 'setting', 'common'];

/** Each reason once, with the names that it concerns. */
function whyOf(doubts: readonly Doubt[]): string {
  const whys = [...new Set(doubts.map(({ why }) => why))];
  return whys
    .map((why) => {
      const names = doubts.filter((doubt) => doubt.why === why).map(({ name }) => name);
      return why === NOT_COMMON ? `${why}: ${names.join(', ')}` : why;
    })
    .join('; ');
}

function howToAllow(names: readonly string[]): string {
  const unique = [...new Set(names)];
  return `Only the user can allow this: ${COMMAND} packages add ${unique.join(' ')}, or an image that has it: ${COMMAND} image build --packages ${unique.join(',')}, or MCP_BRIDGE_PACKAGES=any`;
}

function denied(message: string): BridgeError {
  return new BridgeError('POLICY_DENIED', message, {
    hint: 'Only the user can change the policy. Continue without it, or tell the user what you need it for.',
  });
}

/** @param shown requirements or versions. They consist of harmless characters; indented, a client shows them as code. */
function formFor(session: string, shown: readonly string[], why: string) {
  return {
    mode: 'form' as const,
    message: [
      `Code in session '${session}' wants to install packages from the package index:`,
      shown.map((text) => `    ${text}`).join('\n'),
      `Why you are asked: ${why}.`,
      'What they need is installed with them. Code in the sandbox can then import them; they have no network and no other rights.',
    ].join('\n\n'),
    requestedSchema: {
      type: 'object',
      properties: { install: { type: 'boolean', title: 'Install these packages?', default: false } },
      required: [],
    },
  };
}

/** Most names that are not in the list are, with a typing error. */
async function nearNames([first]: readonly string[]): Promise<string> {
  const near = first === undefined ? '' : await didYouMean(first, [...COMMON_PACKAGES], NEAR_SCORE);
  return near === '' ? '' : `.${near}`;
}

/** Throws `CALL_REFUSED` if nothing may be installed. */
export function refuseIfOff(mode: PackagesMode, requirements: readonly Requirement[]): void {
  if (mode === 'off') {
    const names = requirements.map(({ name }) => name).join(',');
    throw new BridgeError('CALL_REFUSED', 'packages cannot be installed, because MCP_BRIDGE_PACKAGES is off', {
      hint: `The user can set MCP_BRIDGE_PACKAGES=common, or use an image that has it: ${COMMAND} image build --packages ${names}`,
      data: { kind: 'off' },
    });
  }
}
