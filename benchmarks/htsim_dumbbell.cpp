// The dumbbell of the packet benchmark in htsim: NewReno (htsim has no SACK), six hops a round trip, nothing logged.
// Arguments as in ns2_dumbbell.py. It prints the segments acknowledged on its last line.
#include <cstdlib>
#include <iostream>
#include <vector>

#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

struct Hop {
    Queue* queue;
    Pipe* pipe;
};

static Hop hop(double rate, double delay, mem_b buffer, EventList& events) {
    return {new Queue(static_cast<linkspeed_bps>(rate), buffer, events, nullptr), new Pipe(timeFromSec(delay), events)};
}

static Route* route(const std::vector<Hop>& hops, PacketSink* end) {
    Route* way = new Route();
    for (const Hop& one : hops) {
        way->push_back(one.queue);
        way->push_back(one.pipe);
    }
    way->push_back(end);
    return way;
}

int main(int, char** argv) {
    const int flows = std::atoi(argv[1]), packets = std::atoi(argv[5]), size = std::atoi(argv[6]);
    const double rate = std::atof(argv[2]), low = std::atof(argv[3]), high = std::atof(argv[4]);
    const double window = std::atof(argv[7]), duration = std::atof(argv[8]);
    srand48(std::atol(argv[9]));
    Packet::set_packet_size(size);
    EventList& events = EventList::getTheEventList();
    events.setEndtime(timeFromSec(duration));
    const mem_b no_limit = mem_b(1) << 40;
    const Hop there = hop(rate, 0.01, mem_b(packets) * size, events), back = hop(rate, 0.01, no_limit, events);
    TcpRtxTimerScanner timers(timeFromMs(10), events);
    std::vector<TcpSrc*> sources;
    for (int i = 0; i < flows; i++) {
        const double access = (low + (high - low) * i / (flows - 1.0)) / 4 - 0.005;
        Hop hops[4];
        for (Hop& one : hops) one = hop(1e9, access, no_limit, events);
        TcpSrc* source = new TcpSrc(nullptr, nullptr, events);
        TcpSink* sink = new TcpSink();
        source->_cwnd = 2 * size;
        source->_maxcwnd = static_cast<uint32_t>(window * size);
        source->_ssthresh = source->_maxcwnd;
        timers.registerTcp(*source);
        source->connect(*route({hops[0], there, hops[1]}, sink), *route({hops[2], back, hops[3]}, source), *sink,
                        timeFromSec(drand48()));
        sources.push_back(source);
    }
    std::cout.setstate(std::ios::failbit);  // it prints each timeout
    while (events.doNextEvent()) {
    }
    uint64_t acknowledged = 0;
    for (TcpSrc* source : sources) acknowledged += source->_last_acked / size;
    std::cout.clear();
    std::cout << acknowledged << std::endl;
}
