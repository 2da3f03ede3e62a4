/**
 * The guides, the pages for operators and those on providers, as the service shows them beside the API reference. They
 * need no JavaScript; with it there is a search, which reads one index and asks nobody.
 */
import { readFile } from 'node:fs/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError, errorList } from '../../core/errors.ts';
import { escapeHtml } from '../../core/render/markdown-html.ts';
import { type Document, page, policy, send, toDocument } from '../pages.ts';
import { type Library, openLibrary, type Page } from './library.ts';

/** A place that the search leads to. */
interface Entry {
  address: string;
  page: string;
  /** Empty for the beginning of a page. */
  heading: string;
  words: string;
}

export function registerDocs(app: FastifyInstance): void {
  const made = new Map<string, Promise<Document>>();
  /** There are as many as there are documents: an address that is none of theirs is never kept. */
  const once = (address: string, make: () => Promise<Document>): Promise<Document> => {
    const document = made.get(address) ?? make();
    made.set(address, document);
    document.catch(() => made.delete(address));
    return document;
  };
  const serve = async (request: FastifyRequest, reply: FastifyReply) => {
    const address = request.url.split('?', 1)[0]!.replace(/\/$/, '');
    const library = await openLibrary();
    const found = library.pages.get(address);
    if (found) return send(request, reply, await once(address, async () => pageDocument(library, found)), policy);
    const file = library.files.get(address);
    if (file) return send(request, reply, await once(address, () => fileDocument(file)), policy);
    throw new AppError('path.not_found', `there is nothing at ${address}: see /docs/guides`);
  };
  const hidden = { schema: { hide: true } };
  app.get('/docs/search.json', hidden, async (request, reply) => {
    const index = await once('/docs/search.json', async () => indexDocument(await openLibrary()));
    return send(request, reply, index, policy);
  });
  app.get('/docs/:name', hidden, serve);
  app.get('/docs/:folder/:name', hidden, serve);
}

function pageDocument(library: Library, shown: Page): Document {
  return page('guide.html', {
    title: escapeHtml(shown.title),
    content: shown.html,
    pages: library.groups.map(({ title, pages }) => pageList(title, pages, shown)).join('\n'),
    contents: contentsOf(shown),
  });
}

function pageList(title: string, pages: Page[], shown: Page): string {
  const links = pages.map(each => {
    const current = each === shown ? ' aria-current="page"' : '';
    // The list of a group is called as the group is.
    const label = each.title === title ? `All ${title.toLowerCase()}` : each.title;
    return `<li><a href="${each.address}"${current}>${escapeHtml(label)}</a></li>`;
  });
  return `<h2>${title}</h2>\n<ul>${links.join('\n')}</ul>`;
}

/** Nothing for a page that is seen at a glance. */
function contentsOf({ sections }: Page): string {
  const below = sections.slice(1).filter(({ depth }) => depth <= 3);
  if (below.length < 2) return '';
  const links = below.map(
    ({ depth, id, text }) => `<li class="depth-${depth}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
  );
  return `<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>${links.join('\n')}</ul></nav>`;
}

async function fileDocument(file: URL): Promise<Document> {
  const extension = /\.(png|svg)$/.exec(file.pathname)?.[1] as 'png' | 'svg' | undefined;
  // An example is for reading, whatever it is written in.
  return toDocument(extension ?? 'txt', await readFile(file));
}

function indexDocument({ pages }: Library): Document {
  const entries: Entry[] = [...pages.values()].flatMap(({ address, title, sections }) =>
    sections.map(({ id, text, words }, i) => ({
      address: i === 0 ? address : `${address}#${id}`,
      page: title,
      heading: i === 0 ? '' : text,
      words,
    })),
  );
  const problems = errorList.map(({ code, title }) => ({
    address: `/docs/problems/#${code}`,
    page: 'Error codes',
    heading: code,
    words: title,
  }));
  return toDocument('json', Buffer.from(JSON.stringify([...entries, ...problems])));
}
