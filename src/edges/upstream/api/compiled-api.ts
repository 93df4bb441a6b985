/**
 * What a description of an API becomes: tools as an MCP server would list them, and for each tool the request that a call
 * sends. Made from an OpenAPI document or a GraphQL schema, kept on disk as JSON, and all that calls need.
 */
import type { JsonObject } from '../../../core/base/is-object.ts';
import type { HttpMethod } from '../http/http-client.ts';
import type { UpstreamTool } from '../tool-list.ts';

export interface CompiledApi {
  readonly title: string;
  /** The version of the API, as its description says; empty if it says none. */
  readonly version: string;
  /** What the description says about the API as a whole, shortened; empty if it says nothing. */
  readonly instructions: string;
  /** Where the API is, as described: absolute addresses, or relative ones if the description does not say more. */
  readonly addresses: readonly string[];
  /** The ways in which the API takes credentials. */
  readonly credentials: readonly ApiCredential[];
  /** In the order of the description. Names are distinct, also as Python identifiers, and all are keys of `operations`. */
  readonly tools: readonly UpstreamTool[];
  readonly operations: Readonly<Record<string, ApiOperation>>;
  /** One clause for each reason why something of the description is missing or simplified; capped. */
  readonly notices: readonly string[];
}

export interface ApiCredential {
  /** The name of the scheme in the description. */
  readonly name: string;
  readonly kind: 'header' | 'query' | 'cookie' | 'basic' | 'bearer' | 'oauth' | 'other';
  /** The header, parameter or cookie; undefined for the other kinds. */
  readonly field?: string | undefined;
  /** For `oauth`. */
  readonly authorizationUrl?: string | undefined;
  readonly tokenUrl?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
}

export type ApiOperation = HttpOperation | GraphqlOperation | GraphqlDocumentOperation | AnyOperation;

/** One operation of an OpenAPI document. */
export interface HttpOperation {
  readonly kind: 'http';
  readonly method: HttpMethod;
  /** Below the address of the API, with `{name}` for each path parameter. Begins with `/`. */
  readonly path: string;
  readonly parameters: readonly ApiParameter[];
  readonly body?: ApiBody | undefined;
  /** The media types of its successful answers, for the header `accept`; empty if the description names none. */
  readonly accept: readonly string[];
}

/** A parameter of OpenAPI 3.1, "Parameter Object". Defaults of the specification are filled in. */
export interface ApiParameter {
  /** The name of the tool's argument. Differs from `name` only where two would have the same. */
  readonly argument: string;
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie';
  /** `json`: the value as JSON text (`content` with a JSON type); else the styles of the specification. */
  readonly style: 'simple' | 'label' | 'matrix' | 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject' | 'json';
  readonly explode: boolean;
  readonly allowReserved: boolean;
  /** `type`, `default` and `minimum` of its schema, for one of the query that may be a number of pages or items. */
  readonly facts?: JsonObject | undefined;
}

export interface ApiBody {
  /** The one media type that is sent, such as `application/json`. */
  readonly mediaType: string;
  readonly isRequired: boolean;
  /** The argument that is the whole body; undefined if its members are arguments. */
  readonly argument?: string | undefined;
  /** Names of the body's members by argument; undefined if one argument is the whole body. */
  readonly members?: Readonly<Record<string, string>> | undefined;
  /** Whether the whole body is bytes, given as base64. */
  readonly isBase64?: boolean | undefined;
  /** For forms: members whose values are bytes, given as base64 (`multipart/form-data`: sent as files). */
  readonly files?: readonly string[] | undefined;
  /**
   * For `application/x-www-form-urlencoded`: members with the style `deepObject` ("Encoding Object"), whose lists are `a[]=1&a[]=2`; those
   * of others are `a=1&a=2`. Undefined if that is unknown: then all lists have brackets.
   */
  readonly brackets?: readonly string[] | undefined;
}

/** A field of `Query` or `Mutation`. */
export interface GraphqlOperation {
  readonly kind: 'graphql';
  /** The query document with one operation and one field. */
  readonly document: string;
  /** The field, whose value is the result. */
  readonly field: string;
  /** The arguments, which are variables of the document under the same names. */
  readonly variables: readonly string[];
  /** What of the result is returned by default; undefined if the result has no fields. */
  readonly selection?: GraphqlSelection | undefined;
  /** How the next page is asked for; undefined if the result has no pages. */
  readonly nextPage?: GraphqlNextPage | undefined;
}

export interface GraphqlSelection {
  /** The argument with which code gives a selection of its own. None of the field's arguments. */
  readonly argument: string;
  /** Where the default selection, without its braces, begins and ends in `document`: UTF-16 offsets. */
  readonly start: number;
  readonly end: number;
}

export interface GraphqlNextPage {
  /** The argument that takes the cursor. */
  readonly argument: string;
  /** The members of the result on the way to the cursor of the next page. */
  readonly cursor: readonly string[];
  /** The same for the boolean that says whether there is a next page; undefined if only the last page has no cursor. */
  readonly hasNext?: readonly string[] | undefined;
}

/** A tool whose arguments are a whole `document` and its `variables`. */
export interface GraphqlDocumentOperation {
  readonly kind: 'graphql-document';
  /** `query`: documents that would change something are refused. */
  readonly allows: 'query' | 'mutation';
}

/** A tool of an API without a description: one method of HTTP, with any path. */
export interface AnyOperation {
  readonly kind: 'any';
  readonly method: HttpMethod;
}
