/** The ways in which an API takes credentials: OpenAPI 3.1, "Security Scheme Object", and that of Swagger 2.0. */
import type { JsonObject } from '../../../../core/base/is-object.ts';
import type { ApiCredential } from '../compiled-api.ts';
import { type ApiDocument, objectOf, shorten, textOf } from './api-document.ts';

const MAX_SCHEMES = 50;
const MAX_SCOPES = 200;
const MAX_CHARS = 2_000;
/** The flows of OpenAPI 3 and Swagger 2, in which a person logs in first. */
const FLOWS = [
  'authorizationCode',
  'accessCode',
  'deviceAuthorization',
  'clientCredentials',
  'application',
  'implicit',
  'password',
];

export function credentialsOf(document: ApiDocument): ApiCredential[] {
  const schemes = document.isSwagger
    ? document.root['securityDefinitions']
    : objectOf(document.root['components'])['securitySchemes'];
  return Object.entries(objectOf(schemes))
    .slice(0, MAX_SCHEMES)
    .map(([name, scheme]) => ({ name: shorten(name, 200), ...credentialOf(document.object(scheme)) }));
}

function credentialOf(scheme: JsonObject): Omit<ApiCredential, 'name'> {
  const place = textOf(scheme['in']);
  // A longer one is no name of a header or parameter.
  const field = shorten(textOf(scheme['name']), 200);
  switch (textOf(scheme['type']).toLowerCase()) {
    case 'apikey':
      return field !== '' && (place === 'header' || place === 'query' || place === 'cookie')
        ? { kind: place, field }
        : { kind: 'other' };
    case 'basic':
      return { kind: 'basic' };
    case 'http': {
      const kind = textOf(scheme['scheme']).toLowerCase();
      return { kind: kind === 'basic' || kind === 'bearer' ? kind : 'other' };
    }
    case 'oauth2':
      return { kind: 'oauth', ...flowOf(scheme) };
    default:
      return { kind: 'other' };
  }
}

function flowOf(scheme: JsonObject): Partial<ApiCredential> {
  const flows = objectOf(scheme['flows'] ?? { [textOf(scheme['flow'])]: scheme });
  const flow = objectOf(FLOWS.map((name) => flows[name]).find((found) => found !== undefined));
  const scopes = Object.keys(objectOf(flow['scopes'])).slice(0, MAX_SCOPES);
  const address = (key: string): string => shorten(textOf(flow[key]), MAX_CHARS);
  return {
    ...(address('authorizationUrl') !== '' && { authorizationUrl: address('authorizationUrl') }),
    ...(address('tokenUrl') !== '' && { tokenUrl: address('tokenUrl') }),
    ...(scopes.length > 0 && { scopes: scopes.map((scope) => shorten(scope, 200)) }),
  };
}
