'use server';

/** Returns a token for the signed-in user, who is always Jane here. */
export async function getToken(): Promise<string> {
  const { BELFRY_URL, BELFRY_KEY } = process.env;
  const response = await fetch(`${BELFRY_URL}/api/o/acme/u/jane@acme.test/token/`, {
    method: 'POST',
    headers: { authorization: `Key ${BELFRY_KEY}` },
  });
  return (await response.json()).token;
}
