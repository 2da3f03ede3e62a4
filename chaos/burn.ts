/** Uses a processor until its parent ends it, for at most a minute. */
const until = Date.now() + 60_000;
while (Date.now() < until);
