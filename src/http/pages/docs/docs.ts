/**
 * Serves the guides, the reference pages and the provider pages. They work without JavaScript; with it they offer a search
 * that runs in the browser on one index.
 */
import { readFile } from 'node:fs/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError, errorList } from '../../../core/errors.ts';
import { escapeHtml } from '../../../core/render/markdown/html.ts';
import { type Document, page, policy, send, toDocument } from '../reference.ts';
import { type Library, openLibrary, type Page } from './library.ts';

export function registerDocs(app: FastifyInstance): void {
  const made = new Map<string, Promise<Document>>();
  /** Caches documents. Bounded by their number: unknown addresses are never cached. */
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
    throw new AppError('path.not_found', `${address} does not exist: see /docs/guides`);
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
    // The index page of a group has the same title as the group.
    const label = each.title === title ? `All ${title.toLowerCase()}` : each.title;
    return `<li><a href="${each.address}"${current}>${escapeHtml(label)}</a></li>`;
  });
  return `<h2>${title}</h2>\n<ul>${links.join('\n')}</ul>`;
}

/** Returns the table of contents; empty for a short page. */
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
  // Examples are shown as text, whatever their language.
  return toDocument(extension ?? 'txt', await readFile(file));
}

function indexDocument({ pages }: Library): Document {
  // Search results are pages, and sections of them.
  const entries = [...pages.values()].flatMap(({ address, title, sections }) =>
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
