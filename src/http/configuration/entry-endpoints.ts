/** The five alike endpoints of a configuration noun: list, create, retrieve, update and delete. */
import { type Static, type TSchema, Type } from 'typebox';
import { type EntryOf, nouns, parentOf, sectionOf } from '../../core/configuration/document.ts';
import { type ChangesOf, changesSchemaOf, newSchemaOf, responseFieldsOf } from '../../core/configuration/entries.ts';
import { pickFields } from '../../core/configuration/nouns/noun.ts';
import type { Slugs } from '../../db/configuration/organizations.ts';
import { listRows, type RowNoun } from '../../db/configuration/rows.ts';
import * as entries from '../../services/configuration/entries.ts';
import type { Deps } from '../../services/deps.ts';
import type { PathParameterName, SomeResources } from '../resolve.ts';
import { asCreated, ifMatch, withEtag } from '../server/etag.ts';
import { apiPathOf, type Call, list, type Page, plain, slugsOf } from '../server/route.ts';
import { CascadeQuery, Deleted, DeleteQuery, deletionOptions } from '../server/schemas.ts';

type EntryCall = Call & SomeResources & { organization: { id: number; slug: string } };

interface Definition<N extends RowNoun, Form, Details, Answer extends TSchema, Item extends TSchema> {
  kind: entries.Kind<N, Form>;
  tag: string;
  /** The part of the path before the slug or id. */
  at: string;
  answer: Answer;
  /** The answers to creating and changing it, if they differ. */
  answers?: { create: TSchema; update: TSchema };
  /** Item of the list; by default the answer. */
  item?: Item;
  descriptions?: { list?: string; create?: string; update?: string; delete?: string };
  /** Whether `cascade` is accepted when it is deleted. */
  cascades?: true;
  /** Returns a page of the list; by default the rows of the noun, which `showRow` turns into items. */
  list?: (call: EntryCall, page: Page) => Promise<({ id: number } & Static<Item>)[]>;
  showRow?: (call: EntryCall, row: { slug: string; name: string }) => Static<Item>;
  create?: (call: EntryCall & { body: EntryOf<N> }) => Promise<Details>;
  retrieve?: (call: EntryCall, id: number) => Promise<Details>;
  update?: (
    call: EntryCall & { body: ChangesOf<EntryOf<N>> },
    id: number,
    check: entries.Precondition<Form>,
  ) => Promise<Details>;
  /** Returns the response; by default the form itself. */
  show?: (call: EntryCall, details: Details) => unknown;
  /** Returns what the ETag is made of, also from the form without the details; by default the response. */
  tagOf?: (details: Details) => unknown;
}

/** Returns the schemas of the bodies that create and change an object. */
export function bodiesOf<N extends RowNoun>(noun: N) {
  const name = capitalize(noun);
  return {
    create: newSchemaOf(`New${name}`, noun),
    update: changesSchemaOf<EntryOf<N>>(`${name}Changes`, nouns[noun]),
  };
}

const cascading = 'Fails if there are objects below it, unless `cascade` is true. History is kept.';

/** `above` are the parameters of the list's path, and `own` is the one after them. */
export function entryEndpoints<
  const Above extends PathParameterName,
  const Own extends PathParameterName,
  N extends RowNoun,
  Form extends object,
  Details extends Form,
  Answer extends TSchema,
  Item extends TSchema = Answer,
>(
  above: readonly Above[],
  own: Own,
  definition: Definition<N, Form, Details, Answer, Item> & { bodies?: { create: TSchema; update: TSchema } },
  owner: '' | 'Organization' | 'Project' = '',
) {
  const { kind, tag, at, answer, answers, item, descriptions = {}, cascades } = definition;
  const { bodies = bodiesOf(kind.noun), show = (_, form) => form, showRow = (_, row) => row } = definition;
  const { noun } = kind;
  const { key } = nouns[noun];
  const { parent } = parentOf(noun);
  const name = `${owner}${capitalize(noun)}`;
  const label = [owner.toLowerCase(), noun].filter(Boolean).join(' ');
  const path = [...above, own] as readonly (Above | Own)[];
  const plural = sectionOf(noun)!;

  const idOf = (call: object) => (call as { [noun: string]: { id: number } })[noun]!.id;
  const {
    list: listPage = async (call: EntryCall, page: Page) => {
      const above = parent && (call[parent]?.id ?? null);
      const rows = await listRows(call.deps.db, call.organization.id, noun, { parent: above, page });
      return rows.map(row => ({ id: row.id, ...(showRow(call, row as never) as object) }));
    },
    create = call => entries.createEntry(call.deps, kind, slugsOf(call), call.body) as Promise<Details>,
    retrieve = (call, id) => entries.getEntry(call.deps, kind, slugsOf(call), id) as Promise<Details>,
    update = (call, id, check) =>
      entries.updateEntry(call.deps, kind, slugsOf(call), id, call.body, check) as Promise<Details>,
    tagOf,
  } = definition;
  const tagFor = (call: EntryCall) => tagOf ?? ((details: Details) => show(call, details));
  const checkFor = (call: EntryCall) => ifMatch<Form>(call, tagFor(call) as (form: Form) => unknown);
  const shown = (call: EntryCall, details: Details) => withEtag(call, show(call, details), tagFor(call)(details));

  return {
    list: list(above, {
      id: `list${owner}${capitalize(plural)}`,
      summary: `List ${[owner.toLowerCase(), plural].filter(Boolean).join(' ')}`,
      description: descriptions.list,
      tag,
      item: item ?? answer,
      list: listPage as never,
    }),
    create: plain(above, {
      id: `create${name}`,
      summary: `Create ${label}`,
      description: descriptions.create,
      tag,
      status: 201,
      problems: [409],
      body: bodies.create,
      answer: answers?.create ?? answer,
      handle: (async (call: EntryCall & { body: EntryOf<N> }) => {
        const made = await create(call);
        const { [key === 'slug' ? 'slug' : 'id']: last } = made as { slug?: string; id?: number };
        return asCreated(call, `${apiPathOf(call)}${at}/${last}/`, show(call, made), tagFor(call)(made));
      }) as never,
    }),
    retrieve: plain(path, {
      id: `retrieve${name}`,
      summary: `Retrieve ${label}`,
      tag,
      status: 200,
      answer,
      handle: (async (call: EntryCall) => shown(call, await retrieve(call, idOf(call)))) as never,
    }),
    update: plain(path, {
      id: `update${name}`,
      summary: `Update ${label}`,
      description: descriptions.update,
      tag,
      status: 200,
      // Another object may have the new name; a slug cannot change.
      problems: key === 'name' ? [409] : undefined,
      body: bodies.update,
      answer: answers?.update ?? answer,
      handle: (async (call: EntryCall & { body: ChangesOf<EntryOf<N>> }) =>
        shown(call, await update(call, idOf(call), checkFor(call)))) as never,
    }),
    delete: plain(path, {
      id: `delete${name}`,
      summary: `Delete ${label}`,
      description: descriptions.delete ?? cascading,
      tag,
      status: 200,
      problems: cascades || kind.refuseIfUsed ? [409] : undefined,
      query: cascades ? CascadeQuery : DeleteQuery,
      answer: Deleted,
      handle: (call: object) => {
        const { deps, query, ...rest } = call as EntryCall & { query: object };
        const check = checkFor(call as EntryCall);
        return entries.deleteEntry(deps, kind, slugsOf(rest), idOf(call), deletionOptions(query), check);
      },
    }),
  };
}

interface AddressedDefinition<N extends 'source' | 'heartbeat', Form extends object> {
  kind: entries.Kind<N, Form>;
  tag: string;
  token: TSchema;
  url: TSchema;
  /** Returns the path of the URL. */
  urlPath: (token: string) => string;
  create: (deps: Deps, slugs: Slugs, entry: EntryOf<N>) => Promise<Form & { token: string }>;
  update: (
    deps: Deps,
    slugs: Slugs,
    id: number,
    changes: ChangesOf<EntryOf<N>>,
    check: entries.Precondition<Form>,
  ) => Promise<Form & { token?: string }>;
  descriptions: { create: string; update: string; delete: string };
}

/** Returns the endpoints of a noun whose address is a secret: it is in the answers only when the token in it is new. */
export function addressedEndpoints<N extends 'source' | 'heartbeat', Form extends object>({
  kind,
  tag,
  token,
  url,
  urlPath,
  create,
  update,
  descriptions,
}: AddressedDefinition<N, Form>) {
  const noun = nouns[kind.noun];
  const name = capitalize(kind.noun);
  const own = responseFieldsOf(noun);
  const fieldsOf = (form: object) => pickFields(noun, form as never) as never;
  const show = ({ link }: Call, { token, ...form }: Form & { token?: string }) =>
    ({ ...(fieldsOf(form) as object), ...(token && { token, url: link(urlPath(token)) }) }) as never;
  const changed = Type.Object(
    { ...own, token: Type.Optional(token), url: Type.Optional(url) },
    { $id: `Changed${name}` },
  );
  const entry = entryEndpoints(['org', 'prj', 'app'], kind.noun, {
    kind,
    tag,
    at: sectionOf(kind.noun)!,
    answer: Type.Object(own, { $id: name }),
    answers: { create: Type.Object({ ...own, token, url }, { $id: `Created${name}` }), update: changed },
    create: call => create(call.deps, slugsOf(call), call.body),
    update: (call, id, check) => update(call.deps, slugsOf(call), id, call.body, check),
    show,
    showRow: (_, row) => fieldsOf(row),
    tagOf: fieldsOf,
    descriptions,
  });
  const rotate = plain(['org', 'prj', 'app', kind.noun], {
    id: `rotate${name}Token`,
    summary: `Rotate token of ${kind.noun}`,
    description: 'Returns a new address. The previous one is answered with 404 from now on.',
    tag,
    status: 200,
    answer: changed,
    handle: (async (call: EntryCall & Record<N, { id: number }>) => {
      const { id } = call[kind.noun];
      return show(call, await update(call.deps, slugsOf(call), id, { token: null } as never, () => {}));
    }) as never,
  });
  return { entry, rotate };
}

function capitalize(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1);
}
