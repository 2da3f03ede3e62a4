/** Generates the same inputs in every run, so that no run fails by luck. BELFRY_SEED=random looks for others. */
import fc from 'fast-check';

if (process.env.BELFRY_SEED !== 'random') fc.configureGlobal({ seed: 1 });
