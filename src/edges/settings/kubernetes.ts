/** The values of the settings for Kubernetes. Each function throws an error whose message is the reason of a refusal. */
import type { PodOwner, Toleration } from '../engines/kubernetes/kubectl.ts';

const NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;
/** Of labels and annotations: a name, and before it an optional domain. */
const KEY = /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const UID = /^[A-Za-z0-9-]{1,128}$/;
const EFFECTS: readonly string[] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** Names of objects, separated by commas. */
export function parseNames(text: string): string[] {
  return partsOf(text).map((name) => checked(name, NAME, 'a name'));
}

/** `KEY=VALUE`, separated by commas. */
export function parsePairs(text: string): Record<string, string> {
  return Object.fromEntries(
    partsOf(text).map((part) => {
      const [key = '', ...value] = part.split('=');
      if (value.length === 0) {
        throw new Error(`${JSON.stringify(part)} has no value`);
      }
      return [checked(key, KEY, 'a key'), value.join('=')];
    }),
  );
}

/** `KEY[=VALUE][:EFFECT]`, separated by commas. */
export function parseTolerations(text: string): Toleration[] {
  return partsOf(text).map((part) => {
    const [taint = '', effect] = part.split(':');
    if (effect !== undefined && !EFFECTS.includes(effect)) {
      throw new Error(`${JSON.stringify(effect)} is none of ${EFFECTS.join(', ')}`);
    }
    const [key = '', value] = taint.split('=');
    return { key: checked(key, KEY, 'a key'), value, effect };
  });
}

/** `NAMESPACE/NAME/UID`. */
export function parseOwner(text: string): PodOwner {
  const [namespace = '', name = '', uid = '', ...others] = text.split('/');
  if (others.length > 0) {
    throw new Error(`${JSON.stringify(text)} has more than three parts`);
  }
  return {
    namespace: checked(namespace, NAME, 'the name of a namespace'),
    name: checked(name, NAME, 'the name of a Pod'),
    uid: checked(uid, UID, 'the UID of a Pod'),
  };
}

function partsOf(text: string): string[] {
  return text.split(',').map((part) => part.trim());
}

function checked(text: string, pattern: RegExp, what: string): string {
  if (!pattern.test(text)) {
    throw new Error(`${JSON.stringify(text)} is not ${what}`);
  }
  return text;
}
