/** URLs of a database that several servers can hold: `postgres://a:5432,b:5432/belfry`, of which one is the primary. */

const maxServers = 8;
const form = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^@/?#]*)(.*)$/s;

/** Returns one URL for each server. */
export function serverUrls(databaseUrl: string): string[] {
  const [, start = '', hosts = '', end = ''] = form.exec(databaseUrl) ?? [];
  return hosts.includes(',') ? hosts.split(',').map(host => start + host + end) : [databaseUrl];
}

/** Returns whether connections must look for the primary. */
export function mustFindPrimary(databaseUrl: string): boolean {
  return databaseUrl.includes('target_session_attrs=') || serverUrls(databaseUrl).length > 1;
}

/** Returns host, port and name of a database for each of its servers, without user and password. */
export function addressesOf(databaseUrl: string): string[] {
  return serverUrls(databaseUrl).map(each => {
    const { hostname, port, pathname, searchParams } = new URL(each);
    const host = searchParams.get('host') ?? decodeURIComponent(hostname);
    return `${host}:${searchParams.get('port') ?? (port || '5432')}${decodeURIComponent(pathname)}`;
  });
}

/** Returns what is wrong with a URL of replicas, as the end of a sentence about its setting, or undefined. */
export function checkReplicaUrl(databaseUrl: string): string | undefined {
  const [option] = /\b(target_session_attrs|load_balance_hosts)\b/.exec(databaseUrl) ?? [];
  if (!option) return checkDatabaseUrl(databaseUrl);
  return `has ${option}, but every server in it is used: leave it out`;
}

/** Returns what is wrong with a URL, as the end of a sentence about its setting, or undefined. */
export function checkDatabaseUrl(databaseUrl: string): string | undefined {
  const urls = serverUrls(databaseUrl).map(each => URL.parse(each));
  if (urls.some(url => !url || !/^postgres(ql)?:$/.test(url.protocol) || (urls.length > 1 && url.hostname === ''))) {
    return 'must be a URL that starts with postgres:// or postgresql://, such as postgres://belfry:secret@db-1,db-2/belfry';
  }
  if (urls.length > maxServers) return `must name at most ${maxServers} servers`;
  const { searchParams } = urls[0]!;
  const target = searchParams.get('target_session_attrs');
  if (target !== null && target !== 'read-write' && target !== 'primary') {
    return `has target_session_attrs=${target}, but Belfry has to write: use read-write, or leave it out`;
  }
  if (searchParams.has('load_balance_hosts')) {
    return 'has load_balance_hosts, but all connections go to the primary: leave it out';
  }
  if (/,/.test(`${searchParams.get('host')}${searchParams.get('port')}`)) {
    return 'names several servers in host or port: name them before the database, as in postgres://db-1:5432,db-2:5432/belfry';
  }
  return undefined;
}
