/** Every answer that a test gets must be one that the OpenAPI document lists: so the whole suite checks the document. */
import { readFileSync } from 'node:fs';
import { routes } from '../../src/http/routes.ts';

const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as {
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
};

/** Those with fewer parameters first: a name goes before a parameter. */
const operations = routes
  .map(({ method, path }) => ({
    method,
    path,
    form: new RegExp(`^${path.replace(/\/$/, '').replaceAll(/:\w+/g, '[^/]+')}/?$`),
    listed: document.paths[path.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]?.responses ?? {},
    parameters: path.split(':').length,
  }))
  .sort((a, b) => a.parameters - b.parameters);

/** Undefined where no operation has been asked: another path, or a method that the path does not take. */
export function findUnlisted(method: string, url: string, status: number): string | undefined {
  // The path is then another one, such as one that has a name where this one has a parameter.
  if (status === 405) return undefined;
  const [path = ''] = url.split('?', 1);
  const asked = method === 'HEAD' ? 'GET' : method;
  const operation = operations.find(one => one.method === asked && one.form.test(path));
  if (!operation || Object.hasOwn(operation.listed, status)) return undefined;
  return `${asked} ${operation.path} answered ${status}, which openapi.json does not list: add it to \`problems\` of the route`;
}
