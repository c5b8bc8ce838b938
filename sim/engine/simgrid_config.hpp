#pragma once

namespace simgrid::s4u {
class Engine;
}

namespace linkcast {

/// SimGrid's engine of this process, with every default pinned that changes a time, and its notices
/// about that silenced. Call once a process: a second engine keeps the old clock.
simgrid::s4u::Engine* start_engine();

}  // namespace linkcast
