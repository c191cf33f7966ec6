#include <signal.h>

#include "modes.h"

int main(int count, char *arguments[]) {
    options options = options_parse(count, arguments);
    signal(SIGPIPE, SIG_IGN);
    switch (options.mode) {
    case mode_load: return run_load(&options);
    case mode_vanish: return run_vanish(&options);
    case mode_slow: return run_slow(&options);
    case mode_survive: return run_survive(&options);
    case mode_fanout: return run_fanout(&options);
    case mode_storm: return run_storm(&options);
    case mode_multiplex: return run_multiplex(&options);
    }
}
